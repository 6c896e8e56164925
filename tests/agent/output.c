/*
 * output: at a limit that ends the program what is in the buffer of stdout is written, unless a
 * thread is just using that stream.
 */
#include "count.h"

static void *
keep_stdout(void *is_kept)
{
	flockfile(stdout);
	pthread_barrier_wait(is_kept);
	pause();
	return NULL;
}

static void
end_at_limit(bool is_kept)
{
	static pthread_barrier_t barrier;
	pthread_t thread;

	printf("half a line");
	if (is_kept) {
		pthread_barrier_init(&barrier, NULL, 2);
		pthread_create(&thread, NULL, keep_stdout, &barrier);
		pthread_barrier_wait(&barrier);
	}
	for (;;)
		block = malloc(100000);
}

/* The output of a child up to its exit with 255, or NULL; without IS_READ nothing is read. */
static const char *
written(bool is_kept, bool is_read)
{
	static char text[100];
	int fd[2], status = -1;
	ssize_t nr;
	pid_t pid;

	if (pipe(fd) < 0)
		return NULL;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], 1);
		close(2);
		close(fd[0]);
		close(fd[1]);
		setvbuf(stdout, NULL, _IOFBF, 4096);
		end_at_limit(is_kept);
	}
	close(fd[1]);
	nr = is_read ? read(fd[0], text, sizeof text - 1) : 0;
	text[nr > 0 ? nr : 0] = '\0';
	close(fd[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 255 ? text : NULL;
}

int
main(void)
{
	const char *text;

	need_agent();
	text = written(false, true);
	ok(text && strcmp(text, "half a line") == 0, "what was written is not lost");
	text = written(true, true);
	ok(text && !*text, "a stream that is in use is left alone");
	ok(written(false, false), "a pipe that nobody reads makes no difference");
	return tap_end();
}
