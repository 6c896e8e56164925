/*
 * namer DIR: names files for memdiag that nobody should open, and counts who does.  DIR/fifo is a
 * FIFO that has a writer, so that an open does not wait.  The process has mapped a file whose name,
 * as the kernel shows it, is a link to the FIFO; its memory says that it is a program of
 * "memdiag run", whose table is a descriptor of the FIFO.  Answers each line with how often the
 * FIFO was opened since the last one, at least.
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "wire/wire.h"

/* As the agent has them. */
__attribute__((visibility("default"))) struct wire_segment *memdiag_agent_segment;
__attribute__((visibility("default"))) struct wire_family *memdiag_agent_family;

static void
copy_program(int to)
{
	int from = open("/proc/self/exe", O_RDONLY);
	char page[4096];
	ssize_t n;

	while ((n = read(from, page, sizeof page)) > 0)
		if (write(to, page, (size_t)n) != n)
			tracee_fail("write");
	close(from);
}

/* Map a file, and put a link to the FIFO where its name leads then. */
static void
map_file(void)
{
	int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0755);

	copy_program(fd);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		tracee_fail("mmap");
	close(fd);
	unlink("mapped");
	unlink("mapped (deleted)");
	if (symlink("fifo", "mapped (deleted)") < 0)
		tracee_fail("symlink");
}

static void
pretend_agent(void)
{
	struct wire_segment *s = mmap(
		NULL, WIRE_WHOLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct wire_family family;

	if (s == MAP_FAILED)
		tracee_fail("mmap");
	s->magic = WIRE_MAGIC;
	s->version = WIRE_VERSION;
	s->header_bytes = WIRE_HEADER_BYTES;
	s->thread_bytes = sizeof(struct wire_thread);
	s->max_threads = WIRE_MAX_THREADS;
	s->nr_threads = 1;
	s->pid = (uint32_t)getpid();
	s->limit_bytes = INT64_MAX;
	s->is_counting = 1;
	family.run_pid = (uint32_t)getpid();
	family.run_fd = (uint32_t)open("fifo", O_PATH);
	memdiag_agent_segment = s;
	memdiag_agent_family = &family;
}

/* How many opens WATCH has seen since the last call. */
static int
count_opens(int watch)
{
	char events[4096] __attribute__((aligned(8)));
	int nr = 0;
	ssize_t n;

	while ((n = read(watch, events, sizeof events)) > 0)
		for (ssize_t at = 0; at < n; nr++)
			at += (ssize_t)(sizeof(struct inotify_event) +
				((struct inotify_event *)(events + at))->len);
	return nr;
}

int
main(int argc, char **argv)
{
	const int watch = inotify_init1(IN_NONBLOCK);
	char line[64];

	if (argc < 2 || chdir(argv[1]) < 0)
		return 64;
	if (mkfifo("fifo", 0666) < 0 && errno != EEXIST)
		tracee_fail("mkfifo");
	if (open("fifo", O_RDWR) < 0)
		tracee_fail("fifo");
	map_file();
	pretend_agent();
	if (inotify_add_watch(watch, "fifo", IN_OPEN) < 0)
		tracee_fail("inotify_add_watch");
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%d", count_opens(watch));
	return tracee_end();
}
