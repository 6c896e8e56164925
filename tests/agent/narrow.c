/*
 * narrow: the process may have no more memory, nor descriptors.  What it still gets is counted, and
 * what fails is not; a child counts for itself, or not at all.
 */
#include "count.h"

#include <sys/resource.h>

enum { COUNTS, FAILS, SILENT };

static int
counts_itself(void)
{
	size_t live = memdiag_live_bytes();
	void *volatile p = malloc(500);
	size_t more = memdiag_live_bytes() - live;

	free(p);
	if (!memdiag_is_counting())
		return p && !more && memdiag_agent_segment->pid != (uint32_t)getpid() ? SILENT
										      : FAILS;
	return p && more >= 500 && memdiag_live_bytes() == live &&
			memdiag_agent_segment->pid == (uint32_t)getpid()
		? COUNTS
		: FAILS;
}

static int
child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(counts_itself());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : FAILS;
}

static void *
work(void *arg)
{
	for (int i = 0; i < 100; i++)
		take_and_free(100);
	return arg;
}

/* Returns what a child does. */
static int
try_all(const char *name)
{
	pthread_t thread;
	int of_child;
	void *p;

	begin_count();
	p = malloc(1000);
	counted((long)malloc_usable_size(p), name);
	free(p);
	take_and_free(10000000);
	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED) {
		counted(1 << 20, "a mapping");
		munmap(p, 1 << 20);
	}
	of_child = child();
	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_join(thread, NULL);
	counted(0, "all is given back");
	return of_child;
}

static size_t
pages(void)
{
	char line[64] = "";
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || !fgets(line, sizeof line, f))
		exit(99);
	fclose(f);
	return strtoul(line, NULL, 10);
}

/* Down to TO, and up again. */
static int
narrow(int resource, rlim_t to, int (*what)(const char *), const char *name)
{
	struct rlimit was, now;
	int of_child;

	getrlimit(resource, &was);
	now = (struct rlimit){ to, was.rlim_max };
	if (setrlimit(resource, &now) != 0)
		exit(99);
	of_child = what(name);
	setrlimit(resource, &was);
	return of_child;
}

/* Not a word may be said then. */
static int
try_child(const char *name)
{
	(void)name;
	return child();
}

int
main(void)
{
	pthread_t thread;
	size_t bytes;
	int got;

	need_agent();
	/* So that libc has a stack that it keeps. */
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	ok(try_all("with all there is") == COUNTS, "a child counts");
	bytes = pages() * (size_t)sysconf(_SC_PAGESIZE);
	got = narrow(RLIMIT_AS, bytes, try_all, "no more addresses");
	ok(got != FAILS, "a child is right");
	got = narrow(RLIMIT_DATA, 4096, try_all, "no more data");
	ok(got != FAILS, "a child is right");
	got = narrow(RLIMIT_NOFILE, 0, try_all, "no descriptors");
	ok(got == COUNTS, "a child counts, where nobody else can see it");
	got = narrow(RLIMIT_FSIZE, 0, try_child, "no files");
	ok(got == COUNTS, "also when no file may be made");
	ok(try_all("with all there is, again") == COUNTS, "a child counts again");
	return tap_end();
}
