/*
 * unwind-preload: a library that walks the stack at each call of malloc, calloc, and realloc, as
 * the agent will, and compares the walk as tests/unit/unwind-check.h does. At the end it adds a
 * line to the file $UNWIND_REPORT.
 */
#include <config.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

#include "unwind-check.h"

#define EXPORT __attribute__((visibility("default")))
/* Every so many walks are compared with _Unwind_Backtrace(), which is slow. */
#define ORACLE_EVERY 100

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_stack_end;

struct walker {
	struct checker c;
	struct walker *next;
};

static __thread struct self {
	struct walker *walker;
	bool is_inside;
} self __attribute__((tls_model("initial-exec")));
static struct walker *walkers;
static bool has_started, is_over;

/*
 * Without pthread_getattr_np(), which holds a lock while it calls realloc(). glibc puts a
 * thread's descriptor, to which the thread pointer points, at the top of its stack. The size is a
 * guess here: nothing runs on other stacks.
 */
static struct unwind_bounds
stack_of_thread(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0), size = 8 << 20,
			main_top = (uintptr_t)__libc_stack_end, top = (uintptr_t)pthread_self();

	if (here < main_top && main_top - here < size)
		return (struct unwind_bounds){ main_top - size, main_top };
	return (struct unwind_bounds){ here < top && top - here < size ? top - size : top, top };
}

static struct walker *
begin_thread(void)
{
	struct walker *w = check_map(sizeof *w);

	if (!w || !checker_init(&w->c, 256))
		return NULL;
	w->c.thread.own = stack_of_thread();
	w->next = __atomic_load_n(&walkers, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(
		&walkers, &w->next, w, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return w;
}

static inline __attribute__((always_inline)) void
walk(void)
{
	if (!has_started || is_over || self.is_inside)
		return;
	self.is_inside = true;
	if (!self.walker)
		self.walker = begin_thread();
	if (self.walker)
		checker_walk(&self.walker->c, self.walker->c.nr_walks % ORACLE_EVERY == 0);
	self.is_inside = false;
}

EXPORT void *
malloc(size_t size)
{
	walk();
	return __libc_malloc(size);
}

EXPORT void *
calloc(size_t nr, size_t size)
{
	walk();
	return __libc_calloc(nr, size);
}

EXPORT void *
realloc(void *block, size_t size)
{
	walk();
	return __libc_realloc(block, size);
}

static void
drop_child(void)
{
	is_over = true;
}

static __attribute__((constructor)) void
begin(void)
{
	const struct unwind_host host = check_host();

	self.is_inside = true;
	pthread_atfork(NULL, NULL, drop_child);
	has_started = getenv("UNWIND_REPORT") && unwind_start(&host);
	self.is_inside = false;
}

static __attribute__((destructor)) void
report(void)
{
	const char *path = getenv("UNWIND_REPORT");
	struct checker sum = { 0 };
	char name[256] = "";
	int fd;

	if (!has_started || is_over)
		return;
	is_over = true;
	for (const struct walker *w = walkers; w; w = w->next) {
		sum.nr_walks += w->c.nr_walks;
		sum.nr_frames += w->c.nr_frames;
		sum.nr_taken_over += w->c.nr_taken_over;
		sum.nr_compared += w->c.nr_compared;
		sum.nr_wrong += w->c.nr_wrong;
		sum.nr_complete += w->c.nr_complete;
		sum.nr_cut += w->c.nr_cut;
		sum.nr_broken += w->c.nr_broken;
	}
	fd = open("/proc/self/comm", O_RDONLY);
	if (fd >= 0 && read(fd, name, sizeof name - 1) > 0 && strchr(name, '\n'))
		*strchr(name, '\n') = '\0';
	close(fd);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	dprintf(fd,
		"%s walks %lu frames %lu taken %lu compared %lu wrong %lu complete %lu cut %lu "
		"broken %lu\n",
		name, (long)sum.nr_walks, (long)sum.nr_frames, (long)sum.nr_taken_over,
		(long)sum.nr_compared, (long)sum.nr_wrong, (long)sum.nr_complete, (long)sum.nr_cut,
		(long)sum.nr_broken);
	close(fd);
}
