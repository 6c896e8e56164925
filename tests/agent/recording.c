/*
 * recording [alone|profile|record]: a program that records itself, and compares what it reports
 * with its own account.  "alone": its children are not followed; "profile", "record": the
 * environment has begun one.
 */
#include "count.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

struct sums {
	unsigned long long live_blocks, live_bytes, blocks, bytes;
};

static int scratch = -1;

/* The sums in the first line of a report; false: it is not whole. */
static bool
report(struct sums *ret)
{
	static char text[1 << 22];
	ssize_t n;

	if (ftruncate(scratch, 0) < 0 || lseek(scratch, 0, SEEK_SET) < 0 ||
		memdiag_record_report(scratch) < 0)
		return false;
	n = pread(scratch, text, sizeof text - 1, 0);
	if (n < 6 || memcmp(text + n - 6, "# end\n", 6) != 0)
		return false;
	text[n] = '\0';
	return sscanf(text, "heap profile: %llu: %llu [ %llu: %llu] @", &ret->live_blocks,
		       &ret->live_bytes, &ret->blocks, &ret->bytes) == 4;
}

static bool
is_reported(struct sums wanted)
{
	struct sums is = { 0 };

	if (report(&is) && memcmp(&is, &wanted, sizeof is) == 0)
		return true;
	printf("# %llu: %llu [%llu: %llu], not %llu: %llu [%llu: %llu]\n", is.live_blocks,
		is.live_bytes, is.blocks, is.bytes, wanted.live_blocks, wanted.live_bytes,
		wanted.blocks, wanted.bytes);
	return false;
}

/* Whether R is a failure with ERROR. */
static bool
fails(int r, int error)
{
	const int was = errno;

	if (r == -1 && was == error)
		return true;
	printf("# %d, errno %d\n", r, was);
	return false;
}

static void
try_refused(void)
{
	int ends[2];

	ok(!memdiag_record_is_on(), "there is no record");
	ok(memdiag_record_stop() == 0, "ending none changes nothing");
	ok(fails(memdiag_record_report(scratch), ENODATA), "there is nothing to report");
	ok(fails(memdiag_record_start((enum memdiag_record_mode)99), EINVAL), "no other mode");
	ok(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) == 0, "a record begins");
	ok(fails(memdiag_record_report(-1), EBADF), "no descriptor");
	ok(fails(memdiag_record_report(open("/dev/full", O_WRONLY)), ENOSPC), "a full disk");
	if (pipe(ends) == 0 && close(ends[0]) == 0)
		ok(fails(memdiag_record_report(ends[1]), EPIPE), "a pipe nobody reads, no signal");
	ok(memdiag_record_is_on(), "it goes on");
	ok(memdiag_record_stop() == 0 && !memdiag_record_is_on(), "it ends");
}

static void
try_once(void)
{
	void *volatile before = malloc(3000), *volatile kept[3];

	ok(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) == 0, "another one begins");
	ok(is_reported((struct sums){ 0 }), "it is empty");
	for (int i = 0; i < 3; i++)
		kept[i] = malloc(1000);
	take_and_free(500);
	free(before);
	ok(is_reported((struct sums){ 3, 3000, 4, 3500 }), "it has what was taken since");
	ok(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) == 0, "beginning twice is once");
	free(kept[0]);
	ok(is_reported((struct sums){ 2, 2000, 4, 3500 }), "nothing is forgotten by that");
	ok(memdiag_record_stop() == 0, "it ends");
	free(kept[1]);
	take_and_free(500);
	ok(is_reported((struct sums){ 2, 2000, 4, 3500 }), "what it had can be reported still");
	free(kept[2]);
}

/* Addresses that the process has, in pages; not by stdio, which allocates. */
static long
nr_pages(void)
{
	char text[128] = "";
	const int fd = open("/proc/self/statm", O_RDONLY);
	const ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	return n > 0 ? atol(text) : -1;
}

static void
try_often(void)
{
	const long pages = nr_pages();
	const int nr = tap_share(100);
	void *volatile kept[100] = { NULL };
	int nr_wrong = 0;

	for (int i = 0; i < nr; i++) {
		nr_wrong += memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) != 0;
		kept[i] = malloc(100 + (size_t)i);
		/* This block is of an earlier record. */
		if (i >= 5)
			free(kept[i - 5]);
		nr_wrong +=
			!is_reported((struct sums){ 1, 100 + (unsigned)i, 1, 100 + (unsigned)i });
		nr_wrong += memdiag_record_stop() != 0;
	}
	is_u64((uint64_t)nr_wrong, 0, "each of many records has its own blocks alone");
	/* Two of them at a time: an earlier one is dropped when the next begins. */
	ok(pages > 0 && nr_pages() - pages < (128 << 20) / 4096, "none of them leaves anything");
	for (int i = nr > 5 ? nr - 5 : 0; i < nr; i++)
		free(kept[i]);
}

#define NR_THREADS 4
#define NR_SLOTS 64

static atomic_bool is_over;
static atomic_ullong nr_bad;

/* Random blocks; what is left of them and what there was is added to *ARG. */
static void *
allocate(void *arg)
{
	struct sums *s = arg;
	void *slot[NR_SLOTS] = { NULL };
	size_t size[NR_SLOTS] = { 0 };
	uint64_t random = (uintptr_t)arg | 1;

	while (!is_over) {
		const size_t i = (random = random * 6364136223846793005 + 1) >> 58;

		free(slot[i]);
		size[i] = 1 + (random >> 20) % 5000;
		slot[i] = malloc(size[i]);
		s->blocks++;
		s->bytes += size[i];
	}
	for (size_t i = 0; i < NR_SLOTS; i++)
		if (slot[i]) {
			s->live_blocks++;
			s->live_bytes += size[i];
		}
	return NULL;
}

static void
begin_threads(pthread_t thread[NR_THREADS], struct sums each[NR_THREADS])
{
	is_over = false;
	memset(each, 0, NR_THREADS * sizeof *each);
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&thread[i], NULL, allocate, &each[i]))
			exit(99);
}

static struct sums
end_threads(const pthread_t thread[NR_THREADS], const struct sums each[NR_THREADS])
{
	struct sums sum = { 0 };

	is_over = true;
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum.live_blocks += each[i].live_blocks;
		sum.live_bytes += each[i].live_bytes;
		sum.blocks += each[i].blocks;
		sum.bytes += each[i].bytes;
	}
	return sum;
}

static void
try_threads(void)
{
	struct sums each[NR_THREADS], is;
	pthread_t thread[NR_THREADS];
	int nr_wrong = 0;

	/* libc keeps what it has allocated for these threads, and takes nothing for the next. */
	begin_threads(thread, each);
	end_threads(thread, each);
	ok(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) == 0, "a record of threads begins");
	begin_threads(thread, each);
	for (int i = 0; i < tap_share(200); i++)
		nr_wrong += !report(&is) || is.live_blocks > is.blocks || is.live_bytes > is.bytes;
	is_u64((uint64_t)nr_wrong, 0, "reports while threads allocate are whole");
	ok(is_reported(end_threads(thread, each)), "at the end they are exact");
	ok(memdiag_record_stop() == 0, "it ends");
}

static void *
start_and_stop(void *arg)
{
	for (int i = 0; i < tap_share(100); i++) {
		if (memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) < 0 && errno != EAGAIN &&
			errno != ENOMEM)
			nr_bad++;
		if (memdiag_record_report(scratch) < 0 && errno != EAGAIN && errno != ENODATA)
			nr_bad++;
		if (memdiag_record_stop() < 0 && errno != EAGAIN)
			nr_bad++;
	}
	return arg;
}

static void
try_all_at_once(void)
{
	pthread_t worker[NR_THREADS], switcher[NR_THREADS];
	struct sums each[NR_THREADS];

	begin_threads(worker, each);
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&switcher[i], NULL, start_and_stop, NULL))
			exit(99);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(switcher[i], NULL);
	end_threads(worker, each);
	is_u64(nr_bad, 0, "threads begin, report and end records at the same time");
	ok(memdiag_record_stop() == 0 && !memdiag_record_is_on(), "none goes on");
}

static int
child(void *of_parent)
{
	void *volatile own;

	if (memdiag_record_is_on() || !fails(memdiag_record_report(scratch), ENODATA))
		return 1;
	if (memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) < 0)
		return 2;
	/* It is of the parent's record, and of none that this process knows. */
	free(of_parent);
	own = malloc(700);
	if (!own || !is_reported((struct sums){ 1, 700, 1, 700 }))
		return 3;
	return memdiag_record_stop() == 0 ? 0 : 4;
}

static void
try_fork(void)
{
	void *volatile kept;
	pid_t pid;
	int status = -1;

	ok(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) == 0, "a parent records");
	kept = malloc(1234);
	pid = fork();
	if (pid == 0)
		_exit(child(kept));
	waitpid(pid, &status, 0);
	is_u64((uint64_t)status, 0, "its child begins with nothing, and records itself");
	ok(is_reported((struct sums){ 1, 1234, 1, 1234 }), "the parent's is as it was");
	ok(memdiag_record_stop() == 0, "it ends");
	free(kept);
}

static void
try_silent_child(void)
{
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(!(fails(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST), ENOSYS) &&
			fails(memdiag_record_stop(), ENOSYS) &&
			fails(memdiag_record_report(scratch), ENOSYS) && !memdiag_record_is_on()));
	waitpid(pid, &status, 0);
	is_u64((uint64_t)status, 0, "in a child that is not followed all is as without the agent");
}

int
main(int argc, char **argv)
{
	char name[] = "/tmp/memdiag-recording.XXXXXX";

	need_agent();
	scratch = mkstemp(name);
	if (scratch < 0 || unlink(name) < 0)
		return 99;
	if (is_told(argc, argv, "alone")) {
		try_silent_child();
	} else if (is_told(argc, argv, "profile")) {
		ok(fails(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST), EBUSY),
			"not beside a profile");
		ok(fails(memdiag_record_stop(), EBUSY) && !memdiag_record_is_on(), "nor ends that");
	} else if (is_told(argc, argv, "record")) {
		ok(memdiag_record_is_on(), "the environment's is on");
		ok(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) == 0, "and goes on");
		ok(memdiag_record_stop() == 0 && !memdiag_record_is_on(), "until it is ended");
		ok(fails(memdiag_record_start(MEMDIAG_RECORD_MEM_FAST), EBUSY),
			"its file is still to be written");
	} else {
		try_refused();
		try_once();
		try_often();
		try_threads();
		try_all_at_once();
		try_fork();
		try_once();
	}
	return tap_end();
}
