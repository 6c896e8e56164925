/*
 * Stacks that were walked as stacks of a profile: random ones, by seeds, some of them twice,
 * against a list of them.  Then
 * the rates that jemalloc has, and reports that are written to a pipe.
 *
 *	capture-stack-walks [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "capture/jemalloc-process.h"
#include "capture/stack-walks.h"
#include "capture/wait.h"
#include "seeds.h"

#define MAX_STACKS 30
#define MAX_DEPTH 8

static struct world {
	size_t nr;
	struct walked {
		size_t nr;
		uint64_t pc[MAX_DEPTH];
		bool is_signal[MAX_DEPTH], is_guess[MAX_DEPTH];
	} stack[MAX_STACKS];
} w;

/* ---- stacks ---- */

/* Short, of few addresses: many are equal to an earlier one, or are but for what a frame is. */
static void
some_stack(struct walked *s)
{
	s->nr = some(MAX_DEPTH);
	for (size_t i = 0; i < s->nr; i++) {
		s->pc[i] = 0x1000 + some(2);
		s->is_signal[i] = some(6) == 0;
		s->is_guess[i] = some(6) == 0;
	}
}

/* The innermost frame stands at its PC, and so does one that a signal has interrupted. */
static bool
is_exact(const struct walked *s, size_t i)
{
	return i == 0 || s->is_signal[i] || s->is_signal[i - 1];
}

static bool
is_equal(const struct walked *a, const struct walked *b)
{
	for (size_t i = 0; i < a->nr && a->nr == b->nr; i++)
		if (a->pc[i] != b->pc[i] || is_exact(a, i) != is_exact(b, i))
			return false;
	return a->nr == b->nr;
}

static bool
check_stack(const struct profile *p, const struct stacks_marks *marks, const struct walked *s,
	const struct walked *first, uint32_t stack)
{
	const struct profile_stack *got = &p->stacks.v[stack];

	if (got->nr != s->nr)
		return FAIL("a stack has %u frames, not %zu", got->nr, s->nr);
	for (size_t i = 0; i < s->nr; i++) {
		const struct profile_frame *f = &p->frames.v[p->stack_frames.v[got->first + i]];
		const uint8_t mark = marks->v[got->first + i];

		if (f->address != s->pc[i] || f->is_exact != is_exact(s, i))
			return FAIL(
				"frame %zu is %#" PRIx64 ", exact: %d", i, f->address, f->is_exact);
		/* Those of the stack that came first. */
		if (!!(mark & STACKS_SIGNAL) != first->is_signal[i] ||
			!!(mark & STACKS_BY_FRAME_POINTER) != first->is_guess[i])
			return FAIL("frame %zu has the marks %u", i, mark);
	}
	return true;
}

static bool
add_stack(struct profile *p, struct stacks_marks *marks, size_t n, uint32_t *number)
{
	static struct stack walked;
	const struct walked *s = &w.stack[n];
	size_t first = 0, nr_before = p->stacks.nr;
	struct err e;

	walked.nr = s->nr;
	for (size_t i = 0; i < s->nr; i++)
		walked.frame[i] = (struct stack_frame){
			.pc = { s->pc[i] }, .is_signal = s->is_signal[i], .is_guess = s->is_guess[i]
		};
	if (stacks_add_walk(p, marks, &walked, &number[n], &e) < 0)
		return FAIL("%s", e.msg);
	while (!is_equal(&w.stack[first], s))
		first++;
	if (first < n ? number[n] != number[first] : p->stacks.nr != nr_before + 1)
		return FAIL("stack %zu is stack %u", n, number[n]);
	return check_stack(p, marks, s, &w.stack[first], number[n]);
}

static bool
try(void)
{
	auto_profile struct profile *p = profile_new();
	struct stacks_marks marks = { 0 };
	uint32_t number[MAX_STACKS];
	bool is_good = true;

	memset(&w, 0, sizeof w);
	w.nr = 1 + some(MAX_STACKS);
	for (size_t i = 0; i < w.nr; i++)
		some_stack(&w.stack[i]);
	for (size_t i = 0; i < w.nr && is_good; i++)
		is_good = add_stack(p, &marks, i, number);
	free(marks.v);
	return is_good;
}

static void
test_ends(void)
{
	static struct stack s;

	s.nr = 0;
	s.is_complete = s.is_cut = true;
	is_str(stacks_end_names[stacks_end_of(&s)], "missing", "a stack without frames is missing");
	s.nr = 3;
	is_str(stacks_end_names[stacks_end_of(&s)], "complete",
		"a stack to its first function is complete");
	s.is_complete = false;
	is_str(stacks_end_names[stacks_end_of(&s)], "cut", "a stack that has more frames is cut");
	s.is_cut = false;
	is_str(stacks_end_names[stacks_end_of(&s)], "broken",
		"a stack that ends elsewhere is broken");
}

/* ---- rates ---- */

static void
test_rates(void)
{
	size_t nr_wrong = 0;
	uint64_t lg;
	struct err e = { 0 };

	for (unsigned int i = 0; i < 63; i++) {
		const uint64_t rate = UINT64_C(1) << i;

		nr_wrong += jemalloc_process_rate(rate, &lg, &e) < 0 || lg != i;
		nr_wrong += i > 1 && jemalloc_process_rate(rate + 1, &lg, &e) == 0;
		nr_wrong += i > 1 && jemalloc_process_rate(rate - 1, &lg, &e) == 0;
	}
	is_u64(nr_wrong, 0, "jemalloc has powers of two as rates, and no others");
	ok(jemalloc_process_rate(5000, &lg, &e) < 0 && e.kind == ERR_USAGE &&
			strstr(e.msg, " 8192 ") && strstr(e.msg, " 4096,"),
		"the rates next to 5000 are named");
}

/* ---- pipes ---- */

static int ends[2];

/* Read NR bytes slowly; how many were read. */
static void *
read_slowly(void *arg)
{
	const size_t nr = (size_t)(uintptr_t)arg;
	char text[700];
	size_t sum = 0;
	ssize_t n = 0;

	while (sum < nr && (n = read(ends[0], text, sizeof text)) > 0)
		sum += (size_t)n;
	return (void *)(uintptr_t)sum;
}

static void
test_pipe(void)
{
	const size_t nr = 300000; /* more than a pipe holds */
	char *text = calloc(1, nr);
	pthread_t thread;
	void *sum = NULL;
	FILE *f;

	if (pipe(ends) < 0 || !(f = fdopen(ends[1], "w")))
		exit(99);
	pthread_create(&thread, NULL, read_slowly, (void *)(uintptr_t)nr);
	is_u64(capture_write(f, text, nr), nr, "all is written to a pipe that is read slowly");
	pthread_join(thread, &sum);
	is_u64((uintptr_t)sum, nr, "all that is written to a pipe is read");
	ok(capture_has_reader(f), "the pipe has a reader");
	/* Nobody reads any more: the write ends when memdiag is asked to end. */
	capture_hold_signals();
	raise(SIGTERM);
	ok(capture_write(f, text, nr) < nr, "a write to a pipe that is full ends on SIGTERM");
	raise(SIGTERM);
	ok(capture_wait(NULL, UINT64_C(300000000000)) == CAPTURE_WAIT_ASKED,
		"a wait ends on SIGTERM");
	ok(capture_wait(NULL, 0) == CAPTURE_WAIT_OVER, "a wait of 0 s is over");
	close(ends[0]);
	ok(!capture_has_reader(f), "the pipe has no reader any more");
	fclose(f);
	free(text);
}

int
main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	seeds_try(seeds_of(argc, argv, 500), try,
		"walked stacks are those of the profile, each once");
	test_ends();
	test_rates();
	test_pipe();
	return tap_end();
}
