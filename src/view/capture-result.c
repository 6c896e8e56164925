#include <config.h>

#include "view/capture-result.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "jemalloc/prof.h"
#include "ui/json.h"
#include "ui/units.h"
#include "view/borrow-report.h"
#include "view/durations.h"
#include "view/log-state.h"

/* ---- text ---- */

static const char *
capture_result_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Return the command, and its action on the process. */
static const char *
command_of(const struct capture_result *p)
{
	return p->is_record ? "record" : "profile";
}

static const char *
participle(const struct capture_result *p)
{
	return p->is_record ? "recorded" : "profiled";
}

static void
capture_result_print_start(const struct capture_result *p, const struct target *t,
	const struct ui_options *opt, FILE *f)
{
	const struct stop_report *stop = &p->job.hooked.stop;
	char still[32];

	if (p->job.was_so) {
		fprintf(f, "%s %d is being %s already; nothing was changed\n", t->comm, (int)t->pid,
			participle(p));
		return;
	}
	fprintf(f, "%s %d is %s from now on: ", t->comm, (int)t->pid, participle(p));
	if (p->is_record)
		fprintf(f, "every block, with its stack%s\n", p->log.is_there ? ", and when" : "");
	else
		fprintf(f, "one sample for %s allocated\n", UI_SIZE(opt, p->job.period_bytes));
	if (!p->job.hooked.nr_entries)
		fputs("it was started under the agent; no thread was stopped for hooks\n", f);
	else
		fprintf(f, "%zu function%s lead to the agent%s; %zu thread%s stood still for %s\n",
			p->job.hooked.nr_entries, capture_result_plural(p->job.hooked.nr_entries),
			p->job.is_new ? ", which was loaded" : "", stop->nr_threads,
			capture_result_plural(stop->nr_threads),
			ui_duration(stop->longest_ns, still, sizeof still));
	if (p->job.max_bytes)
		fprintf(f,
			"it takes at most %s, as its cgroup has %s left below %s "
			"(--max-overhead)\n",
			UI_SIZE(opt, p->job.max_bytes), UI_SIZE(opt, p->job.room_bytes),
			p->job.limit_name);
	if (p->job.nr_children)
		fprintf(f,
			"%zu child%s forked while the agent was loaded (one is %d): a child that "
			"then calls dlopen() may wait forever for a lock of ld.so; restart it if "
			"it hangs\n",
			p->job.nr_children, p->job.nr_children == 1 ? " was" : "ren were",
			(int)p->job.child);
	log_state_print_writer(&p->log, f);
	fprintf(f, "\nNEXT     memdiag %s %s -p %d\n         memdiag %s stop -p %d\n",
		command_of(p), p->is_record ? "report" : "dump", (int)t->pid, command_of(p),
		(int)t->pid);
}

static uint64_t
peak_bytes(const struct capture_result *p)
{
	return p->head.peak_bytes > 0 ? (uint64_t)p->head.peak_bytes : 0;
}

/* Print the estimates of a profile by samples. */
static void
print_estimates(const struct capture_result *p, const struct ui_options *opt, FILE *f)
{
	const struct wire_sites *s = &p->head;

	fprintf(f, "in use   ~%s of what was allocated since it began; at most ~%s\n",
		UI_SIZE(opt, s->live_bytes > 0 ? (uint64_t)s->live_bytes : 0),
		UI_SIZE(opt, peak_bytes(p)));
	fprintf(f, "samples  %" PRIu64 ", of which %" PRIu64 " were freed; one for %s\n",
		s->nr_samples, s->nr_freed, UI_SIZE(opt, s->period_bytes));
	if (s->nr_lost)
		fprintf(f, "lost     %" PRIu64 " samples in signal handlers, ~%s\n", s->nr_lost,
			UI_SIZE(opt, s->lost_bytes));
}

/* Print the amounts of a record. */
static void
print_amounts(const struct capture_result *p, const struct ui_options *opt, FILE *f)
{
	const struct wire_sites *s = &p->head;

	fprintf(f,
		"in use   %s in %" PRIu64 " block%s of those allocated since it began; at most "
		"%s\n",
		UI_SIZE(opt, p->sum.live.bytes), wire_objects(p->sum.live),
		capture_result_plural(wire_objects(p->sum.live)),
		UI_MARK(UI_SIZE(opt, peak_bytes(p)), s->has_rough_peak));
	fprintf(f, "recorded %s in %" PRIu64 " block%s, of which %" PRIu64 " were freed\n",
		UI_SIZE(opt, p->sum.allocated.bytes), wire_objects(p->sum.allocated),
		capture_result_plural(wire_objects(p->sum.allocated)), wire_objects(p->sum.freed));
	if (s->before.units)
		fprintf(f, "earlier  %s in %" PRIu64 " block%s from before it were freed\n",
			UI_SIZE(opt, s->before.bytes), wire_objects(s->before),
			capture_result_plural(wire_objects(s->before)));
	if (s->nr_lost || s->nr_missed)
		fprintf(f,
			"lost     %" PRIu64 " calls in signal handlers, %s, and %" PRIu64
			" frees\n",
			s->nr_lost, UI_SIZE(opt, s->lost_bytes), s->nr_missed);
	if (s->no_room.units)
		fprintf(f,
			"no room  %s in %" PRIu64
			" block%s not recorded: --max-overhead was reached, "
			"or there was no memory; once freed they count as earlier\n",
			UI_SIZE(opt, s->no_room.bytes), wire_objects(s->no_room),
			capture_result_plural(wire_objects(s->no_room)));
	if (s->nr_forgotten)
		fprintf(f, "lost     %" PRIu64 " frees, for which there was no memory\n",
			s->nr_forgotten);
}

static void
capture_result_print_sums(const struct capture_result *p, const struct ui_options *opt, FILE *f)
{
	const struct wire_sites *s = &p->head;

	if (wire_capture_of(s->period_bytes) == WIRE_PROFILE)
		print_estimates(p, opt, f);
	else
		print_amounts(p, opt, f);
	if (s->nr_mapped)
		fprintf(f,
			"mapped   %s by the program's own mmap, at most %s; %" PRId64 " of %" PRIu64
			" mapping%s\n",
			UI_SIZE(opt, (uint64_t)s->mapped_bytes),
			UI_SIZE(opt, (uint64_t)s->mapped_peak_bytes), s->nr_mappings, s->nr_mapped,
			capture_result_plural(s->nr_mapped));
	if (s->nr_mappings_lost)
		fprintf(f, "lost     %" PRIu64 " calls of mmap and related functions\n",
			s->nr_mappings_lost);
	log_state_print(&p->log, opt, f);
	if (p->sum.no_stack.units)
		fprintf(f,
			"full     %s of it, in %" PRIu64
			" block%s, share one row: there was no room for their stacks\n",
			UI_SIZE(opt, p->sum.no_stack.bytes), wire_objects(p->sum.no_stack),
			capture_result_plural(wire_objects(p->sum.no_stack)));
}

static void
print_kept(const struct capture_result *p, FILE *f)
{
	if (p->job.keeps_memory)
		fputs("kept     no thread could be borrowed to give back the memory that it took; "
		      "the next start uses it again\n",
			f);
}

/* Print how the profile ended. */
static void
print_end(const struct capture_result *p, const struct target *t, FILE *f)
{
	if (p->wait == CAPTURE_WAIT_ASKED)
		fprintf(f, "ended early, as asked for\n");
	if (*p->became)
		fprintf(f, "%s %d became another program, %s; the file has what there was before\n",
			t->comm, (int)t->pid, p->became);
	else if (p->has_ended)
		fprintf(f, "the process, or the program in it, ended; what there was is kept\n");
}

/* Print a record that has ended, or whose log has ended. */
static void
print_log(const struct capture_result *p, const struct target *t, const struct ui_options *opt,
	FILE *f)
{
	char dir[PATH_MAX];

	print_end(p, t, f);
	if (p->verb == CAPTURE_START)
		fprintf(f, "%s %d is still recorded in memory; its log has ended\n", t->comm,
			(int)t->pid);
	if (*p->path)
		fprintf(f, "memory record written: %s\n", p->path);
	capture_result_print_sums(p, opt, f);
	print_kept(p, f);
	fprintf(f, "\nNEXT     memdiag timeline %s\n",
		p->log_file ? text_printable(p->log_file, dir, sizeof dir)
			    : text_printable(p->log.said.dir, dir, sizeof dir));
}

static void
print_pushes(const struct capture_result *p, FILE *f)
{
	const struct capture_pushes *n = &p->pushes;

	fprintf(f,
		"pushed   %" PRIu64 " profile%s, %" PRIu64 " refused, %" PRIu64 " dropped; %" PRIu64
		" retries\n",
		n->nr_accepted, capture_result_plural(n->nr_accepted), n->nr_refused, n->nr_dropped,
		n->nr_retries);
}

/* Print a profile that was pushed, and not written to a file. */
static void
print_pushed(const struct capture_result *p, const struct target *t, const struct ui_options *opt,
	FILE *f)
{
	print_end(p, t, f);
	print_pushes(p, f);
	capture_result_print_sums(p, opt, f);
	print_kept(p, f);
}

static json_t *
pushes_json(const struct capture_pushes *n)
{
	if (!n->is_any)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I}", "accepted", (json_int_t)n->nr_accepted, "retries",
		(json_int_t)n->nr_retries, "refused", (json_int_t)n->nr_refused, "dropped",
		(json_int_t)n->nr_dropped);
}

static void
print_file(const struct capture_result *p, const struct target *t, const struct ui_options *opt,
	FILE *f)
{
	print_end(p, t, f);
	fprintf(f, "memory %s written: %s\n", command_of(p), p->path);
	if (p->pushes.is_any)
		print_pushes(p, f);
	capture_result_print_sums(p, opt, f);
	print_kept(p, f);
	fprintf(f, "\nNEXT     memdiag report %s\n", p->path);
}

static void
print_status(const struct capture_result *p, const struct target *t, const struct ui_options *opt,
	FILE *f)
{
	const time_t since = (time_t)(p->head.started_ns / 1000000000);
	char when[64];
	struct tm tm;

	if (p->is_otherwise) {
		fprintf(f, "%s %d is being %s\n", t->comm, (int)t->pid,
			p->is_record ? "profiled" : "recorded");
		fprintf(f, "\nNEXT     memdiag %s status -p %d\n",
			p->is_record ? "profile" : "record", (int)t->pid);
		return;
	}
	if (!p->head.magic) {
		fprintf(f, "%s %d has not been %s\n", t->comm, (int)t->pid, participle(p));
		fprintf(f, "\nNEXT     memdiag %s start -p %d\n", command_of(p), (int)t->pid);
		return;
	}
	strftime(when, sizeof when, "%F %T", localtime_r(&since, &tm));
	fprintf(f, "%s %d %s %s, begun %s\n", t->comm, (int)t->pid,
		p->is_sampling ? "is being" : "was", participle(p), when);
	capture_result_print_sums(p, opt, f);
	fprintf(f, "takes    %s in the process\n", UI_SIZE(opt, p->taken_bytes));
	fprintf(f, "\nNEXT     memdiag %s %s -p %d\n", command_of(p),
		p->is_sampling ? "stop" : "dump", (int)t->pid);
}

/* ---- text: jemalloc's own profiler ---- */

static void
print_jemalloc_start(const struct capture_result *p, const struct target *t,
	const struct ui_options *opt, FILE *f)
{
	char how[80];

	if (p->job.was_so) {
		fprintf(f, "%s %d is being profiled already, by jemalloc; nothing was changed\n",
			t->comm, (int)t->pid);
		return;
	}
	fprintf(f, "%s %d is profiled by jemalloc from now on: one sample for %s allocated\n%s\n",
		t->comm, (int)t->pid, UI_SIZE(opt, p->job.period_bytes),
		borrow_report_text(&p->job.borrowed, how, sizeof how));
	if (p->prof.skips_new_threads)
		fputs("threads are not sampled unless they ask for it "
		      "(prof_thread_active_init:false)\n",
			f);
	fprintf(f, "\nNEXT     memdiag profile dump -p %d\n         memdiag profile stop -p %d\n",
		(int)t->pid, (int)t->pid);
}

static void
print_jemalloc_status(const struct capture_result *p, const struct target *t,
	const struct ui_options *opt, FILE *f)
{
	const struct jemalloc_prof *j = &p->prof;

	fprintf(f, "%s %d %s by jemalloc\n", t->comm, (int)t->pid,
		j->is_active		? "is being profiled"
			: j->is_enabled ? "can be profiled"
					: "cannot be profiled");
	if (!j->is_enabled) {
		fprintf(f, "%s\n",
			j->is_built_in ? "it was started without MALLOC_CONF=prof:true"
				       : "its jemalloc was built without profiling");
		return;
	}
	fprintf(f, "samples  one for %s\nfiles    %s", UI_SIZE(opt, j->period_bytes),
		j->interval_bytes || j->dumps_at_peak || j->dumps_at_exit ? j->prefix : "none");
	if (j->interval_bytes)
		fprintf(f, ", after %s allocated", UI_SIZE(opt, j->interval_bytes));
	fprintf(f, "%s%s by itself\nfreed    %s\n", j->dumps_at_peak ? ", at each peak" : "",
		j->dumps_at_exit ? ", at the end" : "",
		j->accumulates ? "in the files, too (prof_accum)" : "not in the files");
	fprintf(f, "\nNEXT     memdiag profile %s -p %d\n", j->is_active ? "stop" : "start",
		(int)t->pid);
}

static void
print_jemalloc(const struct capture_result *p, const struct target *t, const struct ui_options *opt,
	FILE *f)
{
	if (p->verb == CAPTURE_STATUS) {
		print_jemalloc_status(p, t, opt, f);
	} else if (*p->path) {
		if (p->wait == CAPTURE_WAIT_ASKED)
			fprintf(f, "ended early, as asked for\n");
		fprintf(f, "memory profile written by jemalloc: %s\n", p->path);
		fprintf(f, "\nNEXT     memdiag report %s\n", p->path);
	} else if (p->verb == CAPTURE_STOP) {
		fprintf(f, "%s %d is not being profiled; nothing was changed\n", t->comm,
			(int)t->pid);
	} else {
		print_jemalloc_start(p, t, opt, f);
	}
}

int
capture_result_print(const struct capture_result *p, const struct target *t,
	const struct ui_options *opt, FILE *f)
{
	if (p->is_jemalloc)
		print_jemalloc(p, t, opt, f);
	else if (p->verb == CAPTURE_STATUS)
		print_status(p, t, opt, f);
	else if (p->log.is_there && !(p->verb == CAPTURE_START && p->log.is_written))
		print_log(p, t, opt, f);
	else if (*p->path)
		print_file(p, t, opt, f);
	else if (p->pushes.is_any)
		print_pushed(p, t, opt, f);
	else if (p->verb == CAPTURE_STOP)
		fprintf(f, "%s %d is not being %s; nothing was changed\n", t->comm, (int)t->pid,
			participle(p));
	else
		capture_result_print_start(p, t, opt, f);
	return 0;
}

/* ---- JSON ---- */

static void
set_amount(json_t *to, const char *name, struct wire_amount a)
{
	json_t *amount = json_pack(
		"{s:I, s:I}", "bytes", (json_int_t)a.bytes, "blocks", (json_int_t)wire_objects(a));

	json_object_set_new(to, name, amount);
}

static json_t *
record_json(const struct capture_result *p)
{
	const struct wire_sites *s = &p->head;
	json_t *noted = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I}",
		"mapped_bytes", (json_int_t)s->mapped_bytes, "mapped_peak_bytes",
		(json_int_t)s->mapped_peak_bytes, "mappings", (json_int_t)s->nr_mappings,
		"mappings_made", (json_int_t)s->nr_mapped, "mappings_lost",
		(json_int_t)s->nr_mappings_lost, "started_ns", (json_int_t)s->started_ns,
		"peak_bytes", (json_int_t)s->peak_bytes, "peak_approximate", s->has_rough_peak,
		"calls_lost", (json_int_t)s->nr_lost, "lost_bytes", (json_int_t)s->lost_bytes,
		"frees_lost", (json_int_t)(s->nr_missed + s->nr_forgotten), "stacks_cut",
		(json_int_t)s->nr_cut);

	set_amount(noted, "in_use", p->sum.live);
	set_amount(noted, "allocated", p->sum.allocated);
	set_amount(noted, "freed", p->sum.freed);
	set_amount(noted, "temporary", p->sum.temporary);
	set_amount(noted, "earlier_freed", s->before);
	set_amount(noted, "no_room", s->no_room);
	set_amount(noted, "no_stack", p->sum.no_stack);
	return noted;
}

static json_t *
noted_json(const struct capture_result *p)
{
	const struct wire_sites *s = &p->head;

	if (!s->magic)
		return json_null();
	if (wire_capture_of(s->period_bytes) == WIRE_RECORD)
		return record_json(p);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"period_bytes", (json_int_t)s->period_bytes, "started_ns",
		(json_int_t)s->started_ns, "live_bytes", (json_int_t)s->live_bytes, "peak_bytes",
		(json_int_t)s->peak_bytes, "samples", (json_int_t)s->nr_samples, "samples_freed",
		(json_int_t)s->nr_freed, "samples_lost", (json_int_t)s->nr_lost, "lost_bytes",
		(json_int_t)s->lost_bytes, "mapped_bytes", (json_int_t)s->mapped_bytes,
		"mapped_peak_bytes", (json_int_t)s->mapped_peak_bytes, "mappings",
		(json_int_t)s->nr_mappings, "mappings_made", (json_int_t)s->nr_mapped,
		"mappings_lost", (json_int_t)s->nr_mappings_lost);
}

static json_t *
jemalloc_prof_json(const struct capture_result *p)
{
	const struct jemalloc_prof *j = &p->prof;

	return json_pack("{s:s, s:b, s:b, s:b, s:I, s:I, s:o, s:b, s:b, s:b, s:b, s:b}", "version",
		j->version, "built_in", j->is_built_in, "enabled", j->is_enabled, "was_active",
		j->is_active, "period_bytes", (json_int_t)p->job.period_bytes, "interval_bytes",
		(json_int_t)j->interval_bytes, "prefix", ui_json_string(j->prefix), "accumulates",
		j->accumulates, "dumps_at_peak", j->dumps_at_peak, "dumps_at_exit",
		j->dumps_at_exit, "reports_leaks", j->reports_leaks, "skips_new_threads",
		j->skips_new_threads);
}

static json_t *
string_json(const char *s)
{
	return *s ? ui_json_string(s) : json_null();
}

static json_t *
capture_result_data_json(const struct capture_result *p)
{
	static const char *const verbs[] = { "one-shot", "start", "stop", "dump", "status" };
	const struct stop_report *f = &p->job.hooked.stop;
	json_t *data = json_pack("{s:s, s:b, s:b, s:o, s:b, s:o, s:o}", "verb", verbs[p->verb],
		p->is_record ? "is_recording" : "is_profiling", p->is_sampling, "was_so_already",
		p->job.was_so, "file", string_json(p->path), "process_ended", p->has_ended,
		"became", string_json(p->became), "noted", noted_json(p));

	if (p->is_record)
		json_object_set_new(data, "log", log_state_json(&p->log));
	else
		json_object_set_new(
			data, "jemalloc", p->is_jemalloc ? jemalloc_prof_json(p) : json_null());
	if (!p->is_record)
		json_object_set_new(data, "pushes", pushes_json(&p->pushes));
	if (p->job.hooked.nr_entries) {
		json_t *stop = json_object();

		view_json_set_stop(stop, f->nr_threads ? 1 : 0, f->still_ns, f->longest_ns);
		json_object_set_new(stop, "threads", json_integer((json_int_t)f->nr_threads));
		json_object_set_new(data, "stop", stop);
		json_object_set_new(
			data, "entries", json_integer((json_int_t)p->job.hooked.nr_entries));
	}
	json_object_set_new(data, "max_overhead_bytes",
		p->job.max_bytes ? json_integer((json_int_t)p->job.max_bytes) : json_null());
	if (p->job.borrowed.tid)
		json_object_set_new(data, "borrow", borrow_report_json(&p->job.borrowed));
	return data;
}

int
capture_result_print_json(const struct capture_result *p, const struct target *t,
	struct ui_output *out, struct err *e)
{
	json_t *document = ui_json_new(command_of(p), t);
	int failed = json_object_set_new(document, "data", capture_result_data_json(p));

	if (failed) {
		err_set(e, ENOMEM, "cannot write JSON");
	} else {
		warnings_to_json(&p->warnings, document);
		failed = ui_json_print(document, out, e);
	}
	json_decref(document);
	return failed;
}
