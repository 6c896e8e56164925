#!/bin/sh
# The listening sshd, in ppoll(): sessions begin, and those who do not log in are thrown out on time.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
PATH=$PATH:/usr/sbin
need sshd ssh ssh-keygen
[ "$(id -u)" -eq 0 ] || skip_all 'sshd wants to be root'
if [ ! -d /run/sshd ]; then
	mkdir /run/sshd || skip_all 'sshd needs /run/sshd'
	elsewhere=/run/sshd	# removed at the end
fi

ssh-keygen -q -t ed25519 -N '' -f "$dir/host" && ssh-keygen -q -t ed25519 -N '' -f "$dir/key" ||
	skip_all 'ssh-keygen makes no keys'
cp "$dir/key.pub" "$dir/authorized"
port=$(free_port)
cat >"$dir/conf" <<CONF
ListenAddress 127.0.0.1
Port $port
HostKey $dir/host
PidFile $dir/pid
AuthorizedKeysFile $dir/authorized
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
LoginGraceTime 10
MaxStartups 100
CONF
"$(command -v sshd)" -D -e -f "$dir/conf" >"$dir/log" 2>&1 &
server=$!
started="$started $server"
wait_until_connected "$port" || {
	cat "$dir/log"
	skip_all 'sshd does not start'
}
start_client ssh "$port" "$dir/key"
visit $server info heap trim info heap 'count start' 'count stop'
kill $server
finish
