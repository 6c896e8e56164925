# chroot-lib: minimal systems of the releases of Debian, and commands in them.  Needs root, debootstrap and unshare, and
# scripts/debian-lib.sh, read before.  A script sets
#
#	$release		the name of a release
#	$root			the directory of the system
#	$cache			a directory that it sees as /root/.cache/memdiag/glibc, or nothing
#
# and then says
#
#	make_root		make the system with debootstrap, unless it is complete
#	configure_root		reach the network from it as from here
#	copy_source		copy the files that git knows, from the current directory to /memdiag in it
#	inside COMMAND...	run COMMAND in it, in /memdiag or, without that, in /
#
# Mounts and processes of a command belong to a mount and a PID namespace that end with it, however it ends.
# shellcheck shell=sh disable=SC2154 # $release, $root and $cache are the script's

make_root()
{
	[ ! -e "$root.complete" ] || return 0
	mirror=$(archives | head -n 1)
	[ -n "$mirror" ] || {
		echo 'apt knows no archive of Debian'
		return 1
	}
	rm -rf --one-file-system "$root"
	debootstrap --variant=minbase "$release" "$root" "$mirror" && : >"$root.complete"
}

configure_root()
{
	for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
		[ ! -e $file ] || { mkdir -p "$root${file%/*}" && cat $file >"$root$file"; }
	done
	{
		apt-config dump 2>/dev/null | grep -E '^Acquire::(http|https)::'
		# An archive may be a copy that is older than its lists say.
		echo 'Acquire::Check-Valid-Until "false";'
	} >"$root/etc/apt/apt.conf.d/99memdiag"
}

# An earlier build there is removed: a file that changed here while an older one was compiled there seems older than its
# object file.
copy_source()
{
	rm -rf "$root/memdiag"
	mkdir -p "$root/memdiag"
	chmod 700 "$root/memdiag"	# as a checkout of root's may be
	git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard |
		tar -c --null --ignore-failed-read -T - | tar -x -C "$root/memdiag"
}

# A shell is its process 1: it waits for the children of those that have ended.
inside()
{
	unshare --mount --propagation private --pid --ipc --fork --kill-child sh -c '
		# Devices of its own: packages and tests may change the modes of those in /dev.
		make_devices()
		{
			mount -t tmpfs -o mode=755 tmpfs "$1" && mkdir "$1/pts" "$1/shm" &&
				mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$1/pts" &&
				mount -t tmpfs tmpfs "$1/shm" && ln -s pts/ptmx "$1/ptmx" &&
				ln -s /proc/self/fd "$1/fd" && ln -s fd/0 "$1/stdin" && ln -s fd/1 "$1/stdout" &&
				ln -s fd/2 "$1/stderr" || return
			for device in null zero full random urandom tty fuse; do
				[ ! -c /dev/$device ] || cp --archive /dev/$device "$1/" || return
			done
		}
		root=$1 cache=$2
		shift 2
		mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
			make_devices "$root/dev" || exit
		[ ! -d "$cache" ] || { mkdir -p "$root/root/.cache/memdiag/glibc" &&
			mount --bind "$cache" "$root/root/.cache/memdiag/glibc"; } || exit
		# No chroot(): in one there are no user namespaces.
		cd "$root" && pivot_root . . && umount -l . || exit
		exec env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			${http_proxy+http_proxy="$http_proxy"} \
			${https_proxy+https_proxy="$https_proxy"} \
			sh -c "cd /memdiag 2>/dev/null || cd /; \"\$@\"; exit \$?" sh "$@"' \
		sh "$root" "${cache-}" "$@"
}
