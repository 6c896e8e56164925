#include <config.h>

#include "trace/sources.h"

#include <stdio.h>

#include "os/tracefs.h"

static int
add_source(struct trace_sources *s, const struct tracefs *fs, struct trace_source what,
	const struct trace_options *o, struct err *e)
{
	struct perf_source *perf = &s->perf[s->nr];
	const char *field = what.is_return ? "ret" : trace_first_field(what.call);
	char name[64];
	size_t bytes;

	snprintf(name, sizeof name, "syscalls/sys_%s_%s", what.is_return ? "exit" : "enter",
		trace_call_names[what.call]);
	*perf = (struct perf_source){ .kind = PERF_TRACEPOINT, .period = 1 };
	perf->has_stack = !what.is_return && !what.is_small;
	if (!what.is_return)
		trace_filter(what.call, o->min_bytes, what.is_small, s->own[s->nr],
			sizeof s->own[s->nr]);
	if (tracefs_id(fs, name, &perf->id, e) < 0 ||
		tracefs_field(fs, name, field, &what.offset, &bytes, e) < 0)
		return -1;
	if (bytes != sizeof(uint64_t))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the kernel's %s has a field '%s' of %zu bytes, not 8", name, field, bytes);
	s->v[s->nr++] = what;
	return 0;
}

static int
add_call(struct trace_sources *s, const struct tracefs *fs, enum trace_call call,
	const struct trace_options *o, struct err *e)
{
	const struct trace_source entry = { .call = call },
				  small = { .call = call, .is_small = true },
				  back = { .call = call, .is_return = true };

	if (add_source(s, fs, entry, o, e) < 0 || add_source(s, fs, back, o, e) < 0)
		return -1;
	return trace_has_small(call, o->min_bytes) ? add_source(s, fs, small, o, e) : 0;
}

int
trace_sources_find(struct trace_sources *s, const struct trace_options *o, struct err *e)
{
	auto_tracefs struct tracefs fs = TRACEFS_NONE;

	if (o->faults) {
		s->perf[s->nr++] = (struct perf_source){
			.kind = PERF_MINOR_FAULTS, .period = o->period, .has_stack = true
		};
		s->perf[s->nr++] = (struct perf_source){
			.kind = PERF_MAJOR_FAULTS, .period = 1, .has_stack = true
		};
		return 0;
	}
	if (tracefs_open(&fs, o->may_mount, e) < 0)
		return -1;
	for (enum trace_call c = 0; c < TRACE_NR_CALLS; c++)
		if (o->call[c] && add_call(s, &fs, c, o, e) < 0)
			return -1;
	return 0;
}

void
trace_sources_set(struct trace_sources *s, const struct trace_scope *scope)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->perf[i].kind == PERF_TRACEPOINT)
			s->perf[i].filter = trace_scope_filter(
				scope, s->own[i][0] ? s->own[i] : NULL, s->filter[i]);
}
