#!/bin/sh
# Children of a program that runs with the agent: all start as they would without it, in whatever way they
# are started. Those that cannot start with the agent (sanitizers, other processors) do not get it; without
# --follow-children no child does; a program that takes the place of the first one keeps it.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
mkdir "$dir/bin"
PATH=$dir/bin:$PATH

# Says whether it has the agent's library and memdiag's own variable, then its arguments.
cat >"$dir/bin/probe" <<'END'
#!/bin/sh
agent=-
grep -q libmemdiag-agent /proc/$$/maps && agent=agent
echo "$agent ${MEMDIAG_AGENT:+set} ${LD_PRELOAD:+preload}" "$@"
END
chmod +x "$dir/bin/probe"
probe=$dir/bin/probe

# runs WANTED ARGUMENTS...: whether 'memdiag run ARGUMENTS' ends with 0 and what it prints is WANTED.
runs()
{
	local wanted="$1"
	shift
	exits 0 memdiag run "$@" || return
	cat "$dir/out"
	[ "$(cat "$dir/out")" = "$wanted" ]
}

# ---- the ways to start a program ----

starter=$TRACEES/starter
for call in execv execve execvp execvpe execl execlp execle fexecve; do
	check "$call: the program that takes the place is counted" \
		runs 'agent set preload a b' -- "$starter" $call "$probe" a b
	for fork in fork vfork; do
		check "$call after $fork: a child has no agent" \
			runs '-   a b' -- "$starter" $fork-$call "$probe" a b
		check "$call after $fork: followed, it has" \
			runs 'agent set preload a b' --follow-children -- "$starter" $fork-$call "$probe" a b
	done
done
for call in posix_spawn posix_spawnp; do
	check "$call: a child has no agent" runs '-   a b' -- "$starter" $call "$probe" a b
	check "$call: followed, it has" \
		runs 'agent set preload a b' --follow-children -- "$starter" $call "$probe" a b
done
for call in system popen; do
	check "$call: a child has no agent" runs '-  ' -- "$starter" $call "$probe"
	check "$call: followed, it has" runs 'agent set preload' --follow-children -- "$starter" $call "$probe"
done

# A thread with a small stack, and an environment that does not fit it twice.
cat >"$dir/narrow.c" <<'END'
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define MANY 3000
extern char **environ;
static char *env[MANY + 1000], *args[] = { "true", NULL };
static void *run(void *arg)
{
	int status = 1;
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/bin/true", args, env);
		_exit(99);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		return arg;
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, args, env) || waitpid(pid, &status, 0) != pid || status)
		return arg;
	puts("started");
	return arg;
}
int main(void)
{
	pthread_attr_t a;
	pthread_t t;
	int nr = 0;

	for (char **e = environ; *e && nr < 900; e++)
		env[nr++] = *e;
	while (nr < MANY)
		env[nr++] = "A=1";
	pthread_attr_init(&a);
	if (pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN) || pthread_create(&t, &a, run, NULL))
		return 1;
	return pthread_join(t, NULL);
}
END
if ${CC:-cc} -O1 -pthread -o "$dir/narrow" "$dir/narrow.c" && [ "$("$dir/narrow")" = started ]; then
	check 'a thread with a small stack starts programs with a large environment' runs started -- "$dir/narrow"
else
	skip 'a thread with a small stack starts programs with a large environment' 'it cannot do so without the agent'
fi

# Another preloaded library stays.
cp "$TRACEES/payload.so" "$dir/other.so" 2>/dev/null ||
	"${CC:-cc}" -shared -fPIC -o "$dir/other.so" "$top_srcdir/tests/tracees/payload.c"
preloads()
{
	LD_PRELOAD=$dir/other.so exits 0 memdiag run "$@" -- "$starter" fork-execve /bin/sh -c \
		'echo "$LD_PRELOAD"' && cat "$dir/out"
}
check "another's preloaded library stays" test "$(preloads)" = "$dir/other.so"
check "another's preloaded library stays behind the agent" \
	test "$(preloads --follow-children)" = "$(cd "$top_builddir" && pwd)/libmemdiag-agent.so:$dir/other.so"

# ---- programs that cannot have it ----

cat >"$dir/fine.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	char *block = malloc(1000);
	void *aligned = NULL;
	memset(block, 1, 1000);
	block = realloc(block, 100000);
	free(block);
	if (posix_memalign(&aligned, 64, 1000) == 0)
		free(aligned);
	puts("fine");
	return 0;
}
END

# each_way NAME: whether the program runs as a child, in several ways.
each_way()
{
	printf '#!%s\n' "$dir/bin/$1" >"$dir/bin/script-$1"
	chmod +x "$dir/bin/script-$1"
	for follow in '' --follow-children; do
		# shellcheck disable=SC2086 # none or one
		runs fine $follow -- sh -c "$1" && runs fine $follow -- sh -c "exec $1" &&
			runs fine $follow -- sh -c "script-$1" &&
			runs fine $follow -- "$starter" posix_spawn "$dir/bin/$1" &&
			runs fine $follow -- "$starter" fork-execvp "$dir/bin/$1" &&
			runs fine $follow -- "$starter" vfork-execl "$dir/bin/$1" || return
	done
}

# child NAME COMPILER...: made by that, if it can be and runs by itself.
child()
{
	local name="$1"
	shift
	if ! "$@" -w -o "$dir/bin/$name" "$dir/fine.c" 2>"$dir/err" ||
		[ "$("$dir/bin/$name" 2>"$dir/err")" != fine ]; then
		skip "a child: $name" "it cannot be made or does not run here: $(head -n 1 "$dir/err")"
		return 1
	fi
	check "a child: $name" each_way "$name"
}

child plain "${CC:-cc}"
child static "${CC:-cc}" -static
if child m32 "${CC:-cc}" -m32; then
	check 'a child: m32: ld.so has nothing to say' sh -c "! '$MEMDIAG' run --follow-children -- sh -c m32 2>&1 |
		grep -q 'wrong ELF class'"
fi
child musl musl-gcc
for compiler in gcc clang; do
	for sanitizer in address leak thread undefined; do
		if child $compiler-$sanitizer $compiler -fsanitize=$sanitizer && [ $sanitizer != undefined ]; then
			check "started by memdiag: $compiler-$sanitizer is refused" \
				exits 125 memdiag run $compiler-$sanitizer
			check "started by memdiag: $compiler-$sanitizer: says why" \
				grep -q 'is built with a sanitizer' "$dir/err"
		fi
	done
done

# ---- programs of musl are counted ----

if [ -x "$dir/bin/musl" ]; then
	check 'musl: it runs' exits 0 memdiag run --json -o "$dir/musl.json" musl
	check 'musl: its blocks are counted' jq -e '.data.blocks_allocated == 2 and .data.blocks_freed == 2 and
		.data.live_bytes == 0 and .data.peak_bytes >= 100000 and .data.peak_bytes < 200000' \
		"$dir/musl.json"
	check 'musl: the limit is held' exits 255 memdiag run --limit 50K musl
else
	skip 'musl' 'there is no musl-gcc'
fi

# ---- programs that start many ----

for program in make python3 node perl; do
	if ! command -v $program >/dev/null; then
		skip "children of $program" 'it is not installed'
		continue
	fi
	case $program in
	make)
		printf 'all: a b c d\na b c d:\n\t@%s $@\n' "$probe" >"$dir/Makefile"
		unset MAKEFLAGS MAKELEVEL MFLAGS
		set -- make -s -j 4 -f "$dir/Makefile"
		wanted='-   a,-   b,-   c,-   d,'
		followed='agent set preload a,agent set preload b,agent set preload c,agent set preload d,' ;;
	python3)
		set -- python3 -c "import subprocess, multiprocessing as m
print(subprocess.run(['$probe', 'x'], capture_output=True, text=True).stdout, end='', flush=True)
p = m.Process(target=lambda: subprocess.run(['$probe', 'y']))
p.start(); p.join()"
		wanted='-   x,-   y,'
		followed='agent set preload x,agent set preload y,' ;;
	node)
		set -- node -e "const c = require('child_process');
process.stdout.write(c.execFileSync('$probe', ['x']).toString());
process.stdout.write(c.execSync('$probe y').toString())"
		wanted='-   x,-   y,'
		followed='agent set preload x,agent set preload y,' ;;
	perl)
		set -- perl -e "system('$probe', 'x'); print \`$probe y\`"
		wanted='-   x,-   y,'
		followed='agent set preload x,agent set preload y,' ;;
	esac
	started_by()
	{
		local wanted="$1"
		shift
		exits 0 memdiag run "$@" && sort "$dir/out" | tr '\n' ',' | tee "$dir/list"
		[ "$(cat "$dir/list")" = "$wanted" ]
	}
	check "children of $program" started_by "$wanted" -- "$@"
	check "children of $program, followed" started_by "$followed" --follow-children -- "$@"
done
finish
