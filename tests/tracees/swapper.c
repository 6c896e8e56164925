/*
 * swapper [-e] KIND FILE [LOG]: puts FILE in the place of a descriptor of memdiag's, or tries to
 * have memdiag write to FILE what this process may not write.  With -e the first thread has ended.
 *
 *	memfd	a memfd that memdiag has just had made becomes FILE, opened by O_PATH
 *	caught	the same of the memfd that is to catch descriptor 2
 *	pipe	a memfd becomes the full pipe of a process that does not read
 *	log	descriptor 2 is FILE, open for reading; what memdiag catches there contains "taken"
 *	late	the same, but descriptor 2 becomes FILE when memdiag has examined it already
 *	score	descriptor 2 is FILE, oom_score_adj of this process, and the words are "-1000"
 *
 * LOG is what descriptor 2 is otherwise.  Answers each line with the number of exchanges, or of
 * words written.
 */
#include "tracee.h"

#include <fcntl.h>
#include <stdatomic.h>

static const char *kind, *words = "taken\n";
static int file, next_fd;
static atomic_long nr_done;
static pthread_t main_thread;
static bool is_ended;

static bool
is_kind(const char *name)
{
	return strcmp(kind, name) == 0;
}

/* Whether descriptor FD is a memfd. */
static bool
is_memfd(int fd)
{
	char name[32], link[64];

	snprintf(name, sizeof name, "/proc/thread-self/fd/%d", fd);
	return readlink(name, link, sizeof link) > 7 && memcmp(link, "/memfd:", 7) == 0;
}

/*
 * Wait for the memfd; if it is to be for appending, until it is.  The copy of a library is the
 * first file that is opened.
 */
static void
await_memfd(bool is_appending)
{
	int flags;

	while ((flags = fcntl(next_fd, F_GETFL)) < 0 || (!is_kind("pipe") && !is_memfd(next_fd)) ||
		(is_appending && !(flags & O_APPEND)))
		;
}

/* Wait until memdiag has had its descriptor closed, which is not the memfd any more. */
static void
await_close(void)
{
	for (int i = 0; i < 500 && fcntl(next_fd, F_GETFD) >= 0; i++)
		usleep(1000);
	close(next_fd);
}

static void *
exchange(void *arg)
{
	for (;;) {
		await_memfd(is_kind("caught"));
		dup2(file, next_fd);
		nr_done++;
		await_close();
	}
	return arg;
}

static void *
fill_log(void *arg)
{
	for (;;) {
		while (!is_memfd(2))
			;
		if (write(2, words, 6) == 6)
			nr_done++;
	}
	return arg;
}

static void *
change_log(void *arg)
{
	const int log = dup(2);

	next_fd = log + 1;
	for (;;) {
		await_memfd(false);
		dup2(file, 2);
		while (fcntl(next_fd, F_GETFD) >= 0) {
			if (is_memfd(2) && write(2, words, 6) == 6)
				nr_done++;
		}
		dup2(log, 2);
	}
	return arg;
}

static int
full_pipe(void)
{
	int ends[2];
	char page[4096] = "";

	if (pipe2(ends, O_NONBLOCK) < 0)
		tracee_fail("pipe2");
	while (write(ends[1], page, sizeof page) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	return ends[1];
}

static int
open_file(const char *path)
{
	if (is_kind("pipe"))
		return full_pipe();
	if (is_kind("score"))
		return open(path, O_WRONLY | O_APPEND);
	return open(path, is_kind("log") || is_kind("late") ? O_RDONLY | O_APPEND : O_PATH);
}

static void
open_files(const char *path, const char *log)
{
	int fd;

	file = open_file(path);
	if (file < 0)
		tracee_fail(path);
	if (is_kind("score"))
		words = "-1000\n";
	if (is_kind("log") || is_kind("score"))
		dup2(file, 2);
	fd = log ? open(log, O_WRONLY | O_APPEND) : 2;
	if (fd < 0 || dup2(fd, 2) < 0)
		tracee_fail(log);
	if (log)
		close(fd);
	next_fd = file + 1;
}

static void *
serve(void *arg)
{
	char line[64];

	if (is_ended && pthread_join(main_thread, NULL) != 0)
		tracee_fail("pthread_join");
	tracee_thread(is_kind("log") || is_kind("score") ? fill_log
			: is_kind("late")		 ? change_log
							 : exchange,
		NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%ld", nr_done);
	exit(tracee_end());
	return arg;
}

/* In a thread that has used malloc, which memdiag may borrow. */
static void *
wait_for_memdiag(void *arg)
{
	tracee_use_malloc();
	return tracee_wait_for_ever(arg);
}

int
main(int argc, char **argv)
{
	is_ended = argc > 1 && strcmp(argv[1], "-e") == 0;
	if (argc < 3 + is_ended)
		return 64;
	kind = argv[1 + is_ended];
	open_files(argv[2 + is_ended], argv[3 + is_ended]);
	main_thread = pthread_self();
	tracee_thread(wait_for_memdiag, NULL);
	tracee_thread(wait_for_memdiag, NULL);
	tracee_thread(serve, NULL);
	if (is_ended)
		pthread_exit(NULL);
	return (int)(intptr_t)tracee_wait_for_ever(NULL);
}
