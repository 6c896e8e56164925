/*
 * The proof that a stopped thread may make calls for us.  libc's symbols give the functions that it
 * must not be in; its registers and stack show where it is.
 */
#include <config.h>

#include "inject/safety.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "inject/inject-priv.h"
#include "inject/patch.h"
#include "inject/safety-priv.h"
#include "inject/target.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of the part of a stack that is searched for return addresses. */
#define SCAN_BYTES 65536

/* Each arena must be seen unlocked once within this time. */
#define LOCKS_WITHIN_NS 200000

static int
add_danger(struct inject_target *callee, raddr start, raddr end, const char *what, struct err *e)
{
	struct danger *d = array_add(&callee->dangers);

	if (!d)
		return err_set_kind(e, ERR_FAILED, 0, "no memory for the dangerous places");
	*d = (struct danger){ start, end, what };
	return 0;
}

/* ---- malloc's own code ---- */

/*
 * malloc.c and arena.c are one object file in libc, so one range of addresses.  Exported functions
 * mark its inside; the static ones before the first of them extend down to the end of the nearest
 * other exported function (2.36: malloc - 0x40e0), and no farther than this.
 */
#define MALLOC_STATIC_BYTES 32768

/* clang-format off */
static const char *const malloc_function[] = {
	"malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign",
	"valloc", "pvalloc", "malloc_trim", "malloc_info", "malloc_stats", "malloc_usable_size",
	"mallinfo", "mallinfo2", "mallopt", "__libc_malloc", "__libc_free", "__libc_calloc",
	"__libc_realloc", "__libc_memalign", "__malloc_fork_lock_parent",
};
/* clang-format on */

struct malloc_extent {
	raddr start, end; /* the exported functions */
	raddr below;	  /* the end of the nearest other function below START */
};

static bool
is_malloc_function(const char *name)
{
	for (size_t i = 0; i < sizeof malloc_function / sizeof *malloc_function; i++)
		if (strcmp(name, malloc_function[i]) == 0)
			return true;
	return false;
}

static void
safety_find_malloc(const struct image *libc, struct malloc_extent *x)
{
	struct image_symbol s;

	*x = (struct malloc_extent){ .start = { UINT64_MAX } };
	for (size_t i = 0; i < sizeof malloc_function / sizeof *malloc_function; i++) {
		if (image_find(libc, malloc_function[i], &s) < 0)
			continue;
		if (s.addr.v < x->start.v)
			x->start = s.addr;
		if (s.addr.v + s.size_bytes > x->end.v)
			x->end = raddr_add(s.addr, s.size_bytes);
	}
	x->below.v = x->start.v - MALLOC_STATIC_BYTES;
}

/* ---- stdio ---- */

/*
 * The functions by which a program enters stdio, without the decorations __, _unlocked, _chk, 64.
 * The functions that they call inside libc need no names: the entry stays on the stack below.
 */
/* clang-format off */
static const char *const stdio_function[] = {
	"asprintf", "dprintf", "fclose", "fcloseall", "fdopen", "fflush", "fgetc", "fgetpos",
	"fgets", "fgetwc", "fgetws", "fmemopen", "fopen", "fopencookie", "fprintf", "fputc",
	"fputs", "fputwc", "fputws", "fread", "freopen", "fscanf", "fseek", "fseeko", "fsetpos",
	"ftell", "ftello", "fwprintf", "fwrite", "fwscanf", "getc", "getchar", "getdelim",
	"getline", "gets", "getw", "getwc", "getwchar", "open_memstream", "pclose", "perror",
	"popen", "printf", "psiginfo", "psignal", "putc", "putchar", "puts", "putw", "putwc",
	"putwchar", "rewind", "scanf", "setbuf", "setbuffer", "setlinebuf", "setvbuf", "snprintf",
	"sprintf", "sscanf", "syslog", "tmpfile", "ungetc", "ungetwc", "vasprintf", "vdprintf",
	"vfprintf", "vfscanf", "vfwprintf", "vprintf", "vscanf", "vsnprintf", "vsprintf",
	"vsscanf", "vsyslog", "vwprintf", "wprintf", "wscanf",
};
/* clang-format on */

/* A part of a name. */
struct part {
	const char *v;
	size_t len;
};

/* Return NAME without a prefix of underscores and the endings _chk, _unlocked and 64. */
static struct part
undecorate(const char *name)
{
	static const struct part ending[] = { { "_chk", 4 }, { "_unlocked", 9 }, { "64", 2 } };
	const char *plain = name + strspn(name, "_");
	struct part part = { plain, strlen(plain) };

	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
		size_t cut = ending[i].len;

		if (part.len > cut && plain[part.len - 1] == ending[i].v[cut - 1] &&
			memcmp(plain + part.len - cut, ending[i].v, cut) == 0)
			part.len -= cut;
	}
	return part;
}

static int
compare_names(const void *key, const void *name)
{
	const struct part *part = key;
	const char *other = *(const char *const *)name;
	/* Thousands of names are compared, and their first letters usually differ. */
	int order = (unsigned char)part->v[0] - (unsigned char)other[0];

	if (!order)
		order = strncmp(part->v, other, part->len);
	return order ? order : -(other[part->len] != '\0');
}

/*
 * Functions that may wait for other threads with libc's own locks held: fork takes every arena's,
 * the others take that of the stack cache, which pthread_create needs (nptl/allocatestack.c).
 * setuid and related functions do so in a function without a name, nptl_setxid.
 */
/* clang-format off */
static const char *const process_function[] = {
	"Fork", "fork", "initgroups", "libc_fork", "posix_spawn", "posix_spawnp",
	"pthread_create", "pthread_getattr_np", "setegid", "seteuid", "setgid", "setgroups",
	"setregid", "setresgid", "setresuid", "setreuid", "setuid", "vfork",
};
/* clang-format on */

#define IS_AMONG(name, list)                                                                       \
	(bsearch(name, list, sizeof(list) / sizeof *(list), sizeof *(list), compare_names) != NULL)

/*
 * Return the work that a thread inside libc's function NAME is in the middle of, NULL if it does
 * not matter.
 */
static const char *
danger_of(const char *name)
{
	struct part plain;

	if (strncmp(name, "_IO_", 4) == 0)
		return "stdio";
	if (strncmp(name, "__nptl_", 7) == 0)
		return "fork or thread creation";
	plain = undecorate(name);
	if (IS_AMONG(&plain, stdio_function))
		return "stdio";
	return IS_AMONG(&plain, process_function) ? "fork or thread creation" : NULL;
}

/* State of the one pass over libc's thousands of functions in which everything is learnt. */
struct learning {
	struct inject_target *callee;
	struct malloc_extent malloc;
	struct err *e;
};

static int
safety_note_function(const char *name, const struct image_symbol *s, void *arg)
{
	struct learning *l = arg;
	const char *what;

	if (s->type != STT_FUNC)
		return 0;
	/* A local function may be malloc's. */
	if (!s->is_local) {
		raddr end = raddr_add(s->addr, s->size_bytes);

		if (end.v <= l->malloc.start.v && end.v > l->malloc.below.v &&
			!is_malloc_function(name))
			l->malloc.below = end;
	}
	what = danger_of(name);
	return what ? add_danger(l->callee, s->addr, raddr_add(s->addr, s->size_bytes), what, l->e)
		    : 0;
}

/* ---- the list ---- */

static int
safety_by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct danger *)a)->start.v, y = ((const struct danger *)b)->start.v;

	return x < y ? -1 : x > y;
}

static int
add_allocator(struct inject_target *callee, const struct inject_allocator *a, struct err *e)
{
	for (size_t i = 0; i < a->nr_code; i++)
		if (add_danger(callee, a->code[i].start, a->code[i].end, a->name, e) < 0)
			return -1;
	return 0;
}

int
safety_learn(struct inject_target *callee, struct err *e)
{
	struct learning l = { .callee = callee, .e = e };

	safety_find_malloc(callee->libc->image, &l.malloc);
	if (image_each(callee->libc->image, safety_note_function, &l) < 0 ||
		add_danger(callee, l.malloc.below, l.malloc.end, "malloc", e) < 0 ||
		(callee->pthread &&
			image_each(callee->pthread->image, safety_note_function, &l) < 0))
		return -1;
	if (callee->allocator && add_allocator(callee, callee->allocator, e) < 0)
		return -1;
	callee->malloc_start = l.malloc.below;
	callee->malloc_end = l.malloc.end;
	for (size_t i = 0; i < callee->process->objects.nr; i++) {
		const struct object *o = &callee->process->objects.v[i];

		if ((o->is_loader && add_danger(callee, o->start, o->end, "ld.so", e) < 0) ||
			(object_is_agent(o) &&
				add_danger(callee, o->start, o->end, "a hook", e) < 0))
			return -1;
	}
	/*
	 * The first instructions of malloc and other hooked functions were moved into this memory.
	 */
	if (callee->hooks.v &&
		add_danger(callee, callee->hooks, raddr_add(callee->hooks, PATCH_BYTES), "a hook",
			e) < 0)
		return -1;
	qsort(callee->dangers.v, callee->dangers.nr, sizeof *callee->dangers.v, safety_by_start);
	return 0;
}

bool
safety_is_making_threads(const struct inject_target *callee)
{
	int32_t lock = 0;
	struct err e;

	return callee->stacks_lock.v &&
		os_read(callee->target, callee->stacks_lock, &lock, sizeof lock, &e) == 0 && lock;
}

bool
safety_is_in_libc(const struct inject_target *callee, raddr a)
{
	const struct object *o = objects_at(&callee->process->objects, a);

	return o && (o == callee->libc || o == callee->pthread || o->is_loader);
}

bool
safety_is_arena(const struct inject_target *callee, raddr a)
{
	for (size_t i = 0; i < callee->arenas->nr; i++)
		if (callee->arenas->v[i].addr.v == a.v)
			return true;
	return false;
}

/*
 * A thread's robust list lies in its struct pthread, at the upper end of its stack; a guard, or
 * other protection, ends the mapping below.  The first thread's stack has a name.
 */
bool
safety_is_own_stack(const struct inject_target *callee, pid_t tid, raddr sp)
{
	const struct region *r = regions_find(&callee->process->maps, sp);
	raddr head;

	if (!r || r->prot[1] != 'w')
		return false;
	if (r->path && strcmp(r->path, "[stack]") == 0)
		return tid == callee->target->pid;
	return os_robust_list(callee->target, tid, &head) == 0 && raddr_in(head, sp, r->end);
}

const char *
safety_danger_at(const struct inject_target *callee, raddr a)
{
	size_t lo = 0, hi = callee->dangers.nr;

	/* Aliases make equal ranges, but none overlap in part. */
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct danger *d = &callee->dangers.v[mid];

		if (raddr_in(a, d->start, d->end))
			return d->what;
		if (a.v < d->start.v)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

/* ---- the proof ---- */

static bool __attribute__((format(printf, 2, 3)))
safety_refuse(struct reason *why, const char *fmt, ...)
{
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	vsnprintf(why->text, sizeof why->text, fmt, ap);
	__builtin_va_end(ap);
	return false;
}

static bool
is_restorer(const struct inject_target *callee, raddr a)
{
	return a.v == callee->restorer.v || (callee->pthread && a.v == callee->pthread_restorer.v);
}

/* Check every frame's code; a return address at a function's very end still belongs to its call. */
static bool
frames_are_safe(const struct inject_target *callee, const struct stack *s, struct reason *why)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct stack_frame *f = &s->frame[i];
		const char *what = safety_danger_at(callee, (raddr){ f->pc.v - (i != 0) });

		if (f->is_signal || is_restorer(callee, f->pc))
			return safety_refuse(why, "it is in a signal handler");
		if (what)
			return safety_refuse(why, "it is inside %s", what);
	}
	return true;
}

/*
 * Check that the whole stack is the program's own, except the frames that start a thread.  A thread
 * that was running may hold any lock inside libc, and most of libc's functions have no names.
 */
static bool
frames_are_the_programs(
	const struct inject_target *callee, const struct stack *s, struct reason *why)
{
	size_t nr = s->nr - 1; /* the outermost is _start or clone */

	while (nr && safety_is_in_libc(callee, s->frame[nr - 1].pc))
		nr--;
	if (!nr)
		return safety_refuse(why, "it starts or ends");
	while (nr--)
		if (safety_is_in_libc(callee, s->frame[nr].pc))
			return safety_refuse(why, "it is inside libc");
	return true;
}

static bool
is_return_address(const struct inject_target *callee, raddr a)
{
	const struct object *o = objects_at(&callee->process->objects, a);
	const unsigned char *before = o ? image_bytes(o->image, (raddr){ a.v - 7 }, 7) : NULL;

	return before && arch_follows_call(before, 7);
}

/* Check every word of the stack, up to its first function, that could be a return address. */
static bool
words_are_safe(const struct inject_target *callee, const struct arch_regs *regs, const char *copy,
	size_t bytes, struct reason *why)
{
	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		const char *what;
		raddr word;

		memcpy(&word.v, copy + at, sizeof word.v);
		word = arch_strip_signature(regs, word);
		if (is_restorer(callee, word))
			return safety_refuse(
				why, "a signal handler's return address is on its stack");
		what = safety_danger_at(callee, word);
		if (what && is_return_address(callee, word))
			return safety_refuse(why, "a return address into %s is on its stack", what);
	}
	return true;
}

/*
 * Check that each arena's lock is seen free once: a stopped thread does not hold such a lock.
 * Other threads take and release theirs meanwhile.
 */
static bool
holds_no_arena(const struct inject_target *callee, struct reason *why)
{
	uint64_t deadline = os_now_ns() + LOCKS_WITHIN_NS;

	for (size_t i = 0; i < callee->arenas->nr; i++) {
		int32_t mutex = 1;
		struct err e;

		while (os_read(callee->target, callee->arenas->v[i].addr, &mutex, sizeof mutex,
			       &e) == 0 &&
			mutex && os_now_ns() < deadline)
			;
		if (mutex)
			return safety_refuse(why, "arena %zu is locked, perhaps by it", i);
	}
	return true;
}

/*
 * Copy the stack from SP on into COPY, of SCAN_BYTES.  Returns the size, 0 if it cannot be read.
 * Missing pages are zeroes: reading those of a stack that maps a file would wait while the thread
 * is stopped.
 */
static size_t
safety_copy_stack(const struct inject_target *callee, raddr sp, char *copy)
{
	const struct region *r = regions_find(&callee->process->maps, sp);
	size_t size = r && r->end.v - sp.v < SCAN_BYTES ? r->end.v - sp.v : SCAN_BYTES;
	struct err e;

	return os_read_present_some(callee->target, sp, copy, size, &e) > 0 ? size : 0;
}

/*
 * Prove that the stack is safe.  A complete walk shows every function the thread is in, and only
 * functions of malloc lock an arena.  A strict proof also requires no leftover of an earlier call
 * into dangerous code on the stack, and every lock seen free.  Without a complete walk only these
 * two show it.
 */
static bool
stack_is_safe(struct inject_target *callee, const struct arch_regs *regs, bool is_parked,
	bool is_strict, struct reason *why)
{
	auto_free char *copy = malloc(SCAN_BYTES);
	raddr sp = arch_sp(regs);
	struct stack stack;
	size_t used = copy ? safety_copy_stack(callee, sp, copy) : 0;

	if (!used)
		return safety_refuse(why, "its stack cannot be read");
	/*
	 * The functions that are called there make system calls and take no lock: any signal
	 * handler may do the same.
	 */
	if (image_is_static(callee->libc->image))
		return true;
	stack_walk(callee->walker, regs->word, sp, copy, used, &stack);
	debug("stack: %zu frames, %s", stack.nr, stack.is_complete ? "complete" : "not complete");
	if (!frames_are_safe(callee, &stack, why))
		return false;
	if (!is_parked && !stack.is_complete)
		return safety_refuse(why, "its stack cannot be unwound to the top");
	if (!is_parked && !frames_are_the_programs(callee, &stack, why))
		return false;
	if (stack.is_complete && (is_parked || !is_strict))
		return !is_strict || holds_no_arena(callee, why);
	if (stack.is_complete && stack.frame[stack.nr - 1].sp.v - sp.v < used)
		used = stack.frame[stack.nr - 1].sp.v - sp.v;
	return words_are_safe(callee, regs, copy, used, why) && holds_no_arena(callee, why);
}

/*
 * Return whether the thread may be in a restartable sequence.  A sequence that continues in the
 * middle breaks what it promises: the kernel restarts it only if the stop ends with its own
 * address.  A sequence makes no call, so a thread that waits in a call is not in one; and if the
 * kernel does not report the state, code of an object without sequences is not in one.
 */
static bool
may_be_in_sequence(const struct inject_target *callee, pid_t tid, raddr pc, bool is_parked)
{
	const struct object *o = objects_at(&callee->process->objects, pc);
	uint64_t bytes;
	enum os_rseq state;
	raddr ignored;
	struct err e;

	if (os_rseq_state(callee->target, tid, &state, &e) < 0)
		return true;
	if (state == OS_RSEQ_UNKNOWN && !is_parked)
		return o && image_section(o->image, "__rseq_cs", &ignored, &bytes) == 0;
	return state == OS_RSEQ_INSIDE;
}

bool
safety_prove(struct inject_target *callee, pid_t tid, const struct arch_regs *regs, bool is_parked,
	bool is_strict, struct reason *why)
{
	const char *obstacle = arch_obstacle(tid);
	bool has_dispatch;
	struct err e;

	if (obstacle)
		return safety_refuse(why, "%s", obstacle);
	if (!safety_is_own_stack(callee, tid, arch_sp(regs)))
		return safety_refuse(why, "it runs on another stack than its own");
	if (may_be_in_sequence(callee, tid, arch_pc(regs), is_parked))
		return safety_refuse(why, "it is in a restartable sequence");
	if (os_has_syscall_dispatch(tid, &has_dispatch, &e) < 0 || has_dispatch)
		return safety_refuse(why, "its system calls are dispatched to the program itself");
	return stack_is_safe(callee, regs, is_parked, is_strict, why);
}

/* ---- malloc alone ---- */

static const struct danger *
malloc_code(const struct inject_target *callee)
{
	for (size_t i = 0; i < callee->dangers.nr; i++)
		if (strcmp(callee->dangers.v[i].what, "malloc") == 0)
			return &callee->dangers.v[i];
	return NULL;
}

static bool
has_word_in(const struct arch_regs *regs, const char *copy, size_t bytes, const struct danger *d)
{
	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		raddr word;

		memcpy(&word.v, copy + at, sizeof word.v);
		if (raddr_in(arch_strip_signature(regs, word), d->start, d->end))
			return true;
	}
	return false;
}

/* Search first: walking a stack takes longer than finding that nothing of malloc's is on it. */
bool
inject_is_in_malloc(const struct inject_target *callee, pid_t tid)
{
	const struct danger *code = malloc_code(callee);
	auto_free char *copy = malloc(SCAN_BYTES);
	struct arch_regs regs;
	struct stack stack;
	struct err e;
	size_t n;

	if (!code || !copy)
		return true;
	if (arch_get_regs(tid, &regs, &e) < 0)
		return false; /* it has ended */
	if (raddr_in(arch_pc(&regs), code->start, code->end))
		return true;
	n = safety_copy_stack(callee, arch_sp(&regs), copy);
	if (n && !has_word_in(&regs, copy, n, code))
		return false;
	stack_walk(callee->walker, regs.word, arch_sp(&regs), copy, n, &stack);
	for (size_t i = 1; i < stack.nr; i++)
		if (raddr_in((raddr){ stack.frame[i].pc.v - !stack.frame[i - 1].is_signal },
			    code->start, code->end))
			return true;
	return !stack.is_complete && !os_is_kernel_worker(callee->target, tid);
}
