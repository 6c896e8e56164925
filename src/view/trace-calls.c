#include <config.h>

#include "view/trace-calls.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "os/os.h"
#include "report/frames.h"
#include "ui/json.h"
#include "view/trace.h"

/*
 * Constants missing from the headers of some libc (uapi/asm-generic/mman-common.h,
 * uapi/linux/mman.h).
 */
#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef SHM_EXEC
#define SHM_EXEC 0100000
#endif
#define MAP_KIND 0xf /* MAP_TYPE in the kernel: these bits form a number */

struct flag {
	uint64_t bit;
	const char *name;
};
#define FLAG(name)                                                                                 \
	{                                                                                          \
		name, #name                                                                        \
	}

static const struct flag protections[] = { FLAG(PROT_READ), FLAG(PROT_WRITE), FLAG(PROT_EXEC),
	FLAG(PROT_GROWSDOWN), FLAG(PROT_GROWSUP), { 0 } };
static const struct flag map_flags[] = { FLAG(MAP_FIXED), FLAG(MAP_ANONYMOUS),
#ifdef MAP_32BIT
	FLAG(MAP_32BIT),
#endif
	FLAG(MAP_GROWSDOWN), FLAG(MAP_DENYWRITE), FLAG(MAP_EXECUTABLE), FLAG(MAP_LOCKED),
	FLAG(MAP_NORESERVE), FLAG(MAP_POPULATE), FLAG(MAP_NONBLOCK), FLAG(MAP_STACK),
	FLAG(MAP_HUGETLB), FLAG(MAP_SYNC), FLAG(MAP_FIXED_NOREPLACE), { 0 } };
static const struct flag remap_flags[] = { FLAG(MREMAP_MAYMOVE), FLAG(MREMAP_FIXED),
	FLAG(MREMAP_DONTUNMAP), { 0 } };
static const struct flag shm_flags[] = { FLAG(SHM_RDONLY), FLAG(SHM_RND), FLAG(SHM_REMAP),
	FLAG(SHM_EXEC), { 0 } };

/* Add the names of the bits in VALUE to LIST, and unnamed bits as a number. */
static json_t *
add_flags(json_t *list, uint64_t value, const struct flag *known)
{
	for (; known->name; known++)
		if (value & known->bit) {
			json_array_append_new(list, json_string(known->name));
			value &= ~known->bit;
		}
	if (value)
		json_array_append_new(list, json_sprintf("0x%" PRIx64, value));
	return list;
}

static json_t *
map_flags_json(uint64_t flags)
{
	static const char *const kinds[] = { [MAP_SHARED] = "MAP_SHARED",
		[MAP_PRIVATE] = "MAP_PRIVATE",
		[MAP_SHARED | MAP_PRIVATE] = "MAP_SHARED_VALIDATE" };
	const uint64_t kind = flags & MAP_KIND;
	json_t *list = json_array();

	if (kind < sizeof kinds / sizeof *kinds && kinds[kind]) {
		json_array_append_new(list, json_string(kinds[kind]));
		flags -= kind;
	}
	return add_flags(list, flags, map_flags);
}

static json_t *
flags_json(const struct trace_entry *c)
{
	/* An int, stored in 8 bytes of the kernel's record. */
	if (c->call == TRACE_MMAP)
		return map_flags_json((uint32_t)c->arg[3]);
	if (c->call == TRACE_MREMAP)
		return add_flags(json_array(), (uint32_t)c->arg[3], remap_flags);
	if (c->call == TRACE_SHMAT)
		return add_flags(json_array(), (uint32_t)c->arg[2], shm_flags);
	return json_null();
}

static json_t *
protection_json(const struct trace_entry *c)
{
	if (c->call != TRACE_MMAP)
		return json_null();
	return c->arg[2] ? add_flags(json_array(), c->arg[2], protections)
			 : json_pack("[s]", "PROT_NONE");
}

static bool
has_descriptor(const struct trace_entry *c)
{
	return c->call == TRACE_MMAP && !(c->arg[3] & MAP_ANONYMOUS);
}

static json_t *
advice_json(const struct trace_entry *c)
{
	if (c->call != TRACE_MADVISE)
		return json_null();
	return json_string(c->arg[2] == MADV_FREE ? "MADV_FREE" : "MADV_DONTNEED");
}

/* Return the call's result if it is an address, else 0. */
static json_t *
result_json(const struct trace_event *event)
{
	const enum trace_call c = event->entry.call;

	if (event->error)
		return json_null();
	return c == TRACE_MMAP || c == TRACE_MREMAP || c == TRACE_BRK || c == TRACE_SHMAT
		? ui_json_address((raddr){ event->result })
		: json_integer(0);
}

static json_t *
error_json(const struct trace_event *event)
{
	char name[32];

	return event->error ? json_string(trace_error_name(event->error, name, sizeof name))
			    : json_null();
}

static json_t *
call_json(const struct trace_event *event)
{
	const struct trace_program *p = event->program;
	const struct trace_entry *c = &event->entry;
	const struct trace_stack *s = &p->stacks.v[event->stack];
	const bool is_remap = c->call == TRACE_MREMAP;
	const struct {
		const char *name;
		json_t *value;
	} members[] = {
		{ "type", json_string("call") },
		{ "time_ns", ui_json_number(event->time_ns) },
		{ "pid", json_integer(p->pid) },
		{ "tid", json_integer(event->tid) },
		{ "call", json_string(trace_call_names[c->call]) },
		{ "address", ui_json_address((raddr){ event->address }) },
		{ "bytes", event->is_size_unknown ? json_null() : ui_json_number(event->bytes) },
		{ "gives_back", json_boolean(event->gives_back) },
		{ "result", result_json(event) },
		{ "error", error_json(event) },
		{ "errno", json_integer(event->error) },
		{ "protection", protection_json(c) },
		{ "flags", flags_json(c) },
		{ "advice", advice_json(c) },
		{ "fd", has_descriptor(c) ? json_integer((int)c->arg[4]) : json_null() },
		{ "offset_bytes", has_descriptor(c) ? ui_json_number(c->arg[5]) : json_null() },
		{ "file", event->file ? ui_json_string(event->file) : json_null() },
		{ "old_address", is_remap ? ui_json_address((raddr){ c->arg[0] }) : json_null() },
		{ "old_bytes", is_remap ? ui_json_number(c->arg[1]) : json_null() },
		{ "by_malloc", json_boolean(s->is_mallocs) },
		{ "end", json_string(stacks_end_names[s->end]) },
		{ "frames", frames_names_json(p->profile, event->stack) },
	};
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		json_object_set_new(o, members[i].name, members[i].value);
	return o;
}

/* Write LINE and release it. */
static int
trace_calls_write_line(json_t *line, FILE *f, struct err *e)
{
	json_auto_t *owned = line;

	if (!owned || json_dumpf(owned, f, JSON_COMPACT) < 0)
		return err_set(e, ENOMEM, "cannot write calls");
	fputc('\n', f);
	return 0;
}

int
trace_calls_begin(const struct target *t, FILE *f, struct err *e)
{
	json_auto_t *document = ui_json_new("trace-calls", t);
	static const char *const kept[] = { "schema", "memdiag", "generated_at", "target" };
	json_t *line = json_pack("{s:s}", "type", "begin");

	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		json_object_set(line, kept[i], json_object_get(document, kept[i]));
	return trace_calls_write_line(line, f, e);
}

int
trace_calls_event(const struct trace_event *event, FILE *f, struct err *e)
{
	if (!event->nr_lost)
		return trace_calls_write_line(call_json(event), f, e);
	return trace_calls_write_line(
		json_pack("{s:s, s:o, s:o}", "type", "lost", "time_ns",
			ui_json_number(event->time_ns), "records", ui_json_number(event->nr_lost)),
		f, e);
}

int
trace_calls_end(const struct trace *t, FILE *f, struct err *e)
{
	return trace_calls_write_line(
		json_pack("{s:s, s:o, s:s, s:o, s:b}", "type", "end", "duration_ns",
			ui_json_number(t->duration_ns), "ended_by", trace_end_name(t), "events",
			trace_events_json(t), "partial",
			t->nr_lost || t->nr_lost_threads || t->nr_unpaired),
		f, e);
}
