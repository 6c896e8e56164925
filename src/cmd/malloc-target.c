#include <config.h>

#include "cmd/malloc-target.h"

#include <string.h>

#define DEFAULT_WAIT_NS (UINT64_C(5) * 1000000000)
/* Arenas that are damaged stay so; those that were just being changed do not. */
#define ARENA_TRIES 100
#define ARENA_PAUSE_NS 1000000

/* ---- options ---- */

enum { KEY_MODE = 0x2000, KEY_WAIT };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The borrowed thread:", 2 },
	{ "wait", KEY_WAIT, "DURATION", 0,
		"look this long for a moment when a thread can be borrowed safely (5s)", 2 },
	{ "mode", KEY_MODE, "MODE", 0,
		"auto; helper: it makes a thread that does the work; thread: it does the work "
		"itself, as in a process with one thread", 2 },
	{ 0 },
};

static const char *const mode_name[] = {
	[INJECT_MODE_AUTO] = "auto",
	[INJECT_MODE_HELPER] = "helper",
	[INJECT_MODE_THREAD] = "thread",
};

static void
parse_mode(struct argp_state *state, struct inject_options *o, const char *arg)
{
	for (size_t i = 0; i < sizeof mode_name / sizeof *mode_name; i++)
		if (strcmp(arg, mode_name[i]) == 0) {
			o->mode = (enum inject_mode)i;
			return;
		}
	ui_refuse(state, arg, "is not a mode: say auto, helper or thread");
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	struct inject_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		o->wait_ns = DEFAULT_WAIT_NS;
		return 0;
	case KEY_MODE:
		parse_mode(state, o, arg);
		return 0;
	case KEY_WAIT:
		if (!ui_parse_duration(arg, &o->wait_ns))
			ui_refuse(state, arg, "is not a duration: say 500ms, 10s or 2m");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp borrow_argp = { .options = options, .parser = parse_option };

const struct argp_child borrow_children[] = {
	{ &ui_options_argp, 0, NULL, 0 },
	{ &borrow_argp, 0, NULL, 0 },
	{ 0 },
};

void
borrow_limit(struct inject_options *inject, const struct ui_options *ui)
{
	if (inject->wait_ns > ui->timeout_ns / 2)
		inject->wait_ns = ui->timeout_ns / 2;
	inject->timeout_ns = ui->timeout_ns - inject->wait_ns;
}

/* ---- the target ---- */

/* A process that is ending has no memory any more, and so looks like one of a strange kind. */
static int
refuse(const struct malloc_target *mt, struct err *e)
{
	const struct target *t = &mt->target;
	struct os_status s;
	struct err ignored;

	if (os_status(t, 0, &s, &ignored) == 0 && s.has_memory)
		return -1;
	return err_set_kind(
		e, ERR_GONE, 0, "%d (%s) ended while it was looked at", (int)t->pid, t->comm);
}

int
malloc_target_open(struct malloc_target *mt, pid_t pid, struct err *e)
{
	if (target_open(&mt->target, pid, e) < 0)
		return -1;
	if (maps_read(&mt->maps, &mt->target, e) < 0 ||
		objects_find(&mt->objects, &mt->maps, &mt->target, NULL, e) < 0 ||
		inject_target_new(&mt->inject, &mt->target, &mt->maps, &mt->objects, e) < 0 ||
		inject_check_calls(mt->inject, e) < 0)
		return refuse(mt, e);
	return 0;
}

/*
 * malloc_info() follows the ring of arenas and the chain of heaps in each without asking, holding
 * the arena's lock (malloc/malloc.c, __malloc_info): damaged ones would end the target or never
 * let it go.
 */
int
malloc_target_find_arenas(struct malloc_target *mt, struct err *e)
{
	for (int i = 0; i < ARENA_TRIES; i++) {
		if (i)
			os_sleep_ns(ARENA_PAUSE_NS);
		arenas_release(&mt->arenas);
		if (arenas_find(&mt->arenas, &mt->target, &mt->maps, &mt->objects, NULL, e) < 0)
			return refuse(mt, e);
		if (mt->arenas.is_ring_closed)
			return 0;
	}
	return err_set_kind(e, ERR_FAILED, 0,
		"the arenas in the memory of %d (%s) are damaged. malloc would follow them into "
		"nothing, so it was not called; 'memdiag maps' works here",
		(int)mt->target.pid, mt->target.comm);
}

void
malloc_target_release(struct malloc_target *mt)
{
	inject_target_free(mt->inject);
	arenas_release(&mt->arenas);
	objects_release(&mt->objects);
	maps_release(&mt->maps);
	target_release(&mt->target);
	*mt = (struct malloc_target)MALLOC_TARGET_NONE;
}

uint64_t
space_arena_resident(const struct space *s, int32_t nr)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *leaf = &s->leaves.v[i];

		if (nr < 0 ? leaf->arena >= 0 : leaf->arena == nr)
			bytes += leaf->rss_bytes;
	}
	return bytes;
}

/* ---- how it went ---- */

const char *
borrow_text(const struct inject_report *r, char *buf, size_t size)
{
	char held[32];

	snprintf(buf, size, "thread %d was held for %s", (int)r->tid,
		ui_duration(r->held_ns, held, sizeof held));
	return buf;
}

json_t *
borrow_json(const struct inject_report *r)
{
	if (!r->tid)
		return json_null();
	return json_pack("{s:s, s:i, s:I}", "mode", mode_name[r->mode], "tid", (int)r->tid,
		"held_us", (json_int_t)(r->held_ns / 1000));
}
