# select-server.pl SOCKET: a server with one thread, which waits in select(), with a timeout and without.  Its sockets
# block, so it hangs if select() reports one that is not ready.
#
# A line "SEQ LENGTH SEED MS" is answered after MS milliseconds with "SEQ LENGTH", and LENGTH bytes that SEQ and SEED
# determine.  Speaks the protocol of tracee.h on stdin and stdout.
use strict;
use warnings;
use Socket;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

$| = 1;
$SIG{PIPE} = 'IGNORE';
socket(my $listener, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
bind($listener, sockaddr_un($ARGV[0])) or die "bind: $!";
listen($listener, 100) or die "listen: $!";
my (%client, %line, @later, @kept);	# @later: [when, descriptor, answer]

sub answer
{
	my ($fd, $text) = @_;
	while (length $text) {
		my $n = syswrite($client{$fd}, $text) or return;
		substr($text, 0, $n) = '';
	}
}

sub take
{
	my ($fd, $seq, $length, $seed, $ms) = @_;
	push @kept, [map { 'x' x (20 + $_ * $seed % 3000) } 1 .. 300];	# free soon, so that there is what to give back
	shift @kept if @kept > 4;
	my $text = "$seq $length\n" . substr("$seq:$seed " x $length, 0, $length) . "\n";
	return answer($fd, $text) if !$ms;
	push @later, [clock_gettime(CLOCK_MONOTONIC) + $ms / 1000, $fd, $text];
	@later = sort { $a->[0] <=> $b->[0] } @later;
}

sub hear
{
	my ($fd) = @_;
	my $n = sysread($client{$fd}, $line{$fd}, 1000, length $line{$fd});
	if (!$n) {
		delete $client{$fd};
		@later = grep { $_->[1] != $fd } @later;
		return;
	}
	take($fd, split ' ', $1) while $line{$fd} =~ s/^(.*)\n//;
}

print "ready\n";
while (1) {
	my $ready = '';
	vec($ready, $_, 1) = 1 for 0, fileno $listener, keys %client;
	my $left = @later ? $later[0][0] - clock_gettime(CLOCK_MONOTONIC) : undef;
	$left = 0 if defined $left && $left < 0;
	my $n = select($ready, undef, undef, $left);
	die "select: $!" if $n < 0;
	answer(@{shift @later}[1, 2]) while @later && $later[0][0] <= clock_gettime(CLOCK_MONOTONIC);
	next if !$n;
	hear($_) for grep { vec($ready, $_, 1) } keys %client;
	if (vec($ready, fileno $listener, 1)) {
		accept(my $new, $listener) or die "accept: $!";
		$client{fileno $new} = $new;
		$line{fileno $new} = '';
	}
	last if vec($ready, 0, 1);
}
print "alive\n";
