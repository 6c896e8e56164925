#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/deadline.h"
#include "heap/heap.h"
#include "inject/inject.h"
#include "maps/maps.h"
#include "ui/ui.h"

/* Before the text of a line: "  note resident pages ". */
#define LEAD_COLUMNS 22

/* ---- options ---- */

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const struct argp argp = {
	.parser = parse_option,
	.children = ui_options_children,
	.args_doc = "[PID]",
	.doc = "What memdiag can see of a process and do with it, and what is in the way: one line "
	       "for each. Without a process: what this machine allows.\v"
	       "Nothing is stopped and nothing is changed in the process.\n\n"
	       "Examples:\n"
	       "  memdiag doctor\n"
	       "  memdiag doctor --pid 1234\n\n"
	       "The exit status is 2 when anything says 'no'.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- findings ---- */

enum state {
	STATE_YES,
	STATE_NO,
	STATE_NOTE,	/* a fact that is neither good nor bad */
	STATE_UNKNOWN,	/* something else must work first */
};

static const char *const state_name[] = { "yes", "no", "note", "?" };

struct finding {
	const char *about;	/* also the id in JSON */
	bool is_of_machine;
	enum state state;
	char text[600];
};

struct findings {
	struct finding *v;
	size_t nr, room;
	bool is_of_machine;	/* those that come */
};

static void __attribute__((format(printf, 4, 5)))
find(struct findings *fs, const char *about, enum state state, const char *fmt, ...)
{
	struct finding *f = array_add(fs);
	va_list ap;

	if (!f)
		return;
	f->about = about;
	f->is_of_machine = fs->is_of_machine;
	f->state = state;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
}

static size_t
nr_of(const struct findings *fs, enum state state)
{
	size_t nr = 0;

	for (size_t i = 0; i < fs->nr; i++)
		nr += fs->v[i].state == state;
	return nr;
}

/* ---- the machine ---- */

static void
look_at_kernel(struct findings *fs)
{
	auto_target struct target self = TARGET_NONE;
	auto_pages struct os_pages *pages = NULL;
	struct utsname name;
	struct err e;
	int byte = 0;

	if (uname(&name) == 0)
		find(fs, "kernel", STATE_NOTE, "%s %s on %s, %d CPUs", name.sysname, name.release,
			name.machine, os_nr_cpus());
	if (target_open(&self, getpid(), &e) < 0) {
		find(fs, "proc", STATE_NO, "not even memdiag itself can be looked at: %s", e.msg);
		return;
	}
	if (os_read(&self, (raddr){ (uintptr_t)&byte }, &byte, sizeof byte, &e) < 0)
		find(fs, "memory", STATE_NO, "%s", e.msg);
	else
		find(fs, "memory", STATE_YES, "of processes can be read (/proc/PID/mem)");
	if (os_pages_open(&pages, &self, OS_PAGES_SCAN, &e) == 0)
		find(fs, "pages", STATE_YES, "are counted by PAGEMAP_SCAN");
	else if (os_pages_open(&pages, &self, OS_PAGES_PAGEMAP, &e) == 0)
		find(fs, "pages", STATE_YES,
			"are counted by pagemap; PAGEMAP_SCAN, which is quicker and tells "
			"zero pages apart, is of Linux 6.7");
	else
		find(fs, "pages", STATE_NO, "%s", e.msg);
	if (self.pidfd < 0)
		find(fs, "pidfd", STATE_NOTE,
			"is of Linux 5.3: a process that ends is noticed later without");
}

static void
look_at_yama(struct findings *fs, const struct os_rights *us)
{
	if (!us->yama_scope)
		find(fs, "yama", STATE_YES, "does not restrict tracing");
	else if (us->has_ptrace && us->yama_scope < 3)
		find(fs, "yama", STATE_YES, "restricts tracing (ptrace_scope %ld), but not ours",
			us->yama_scope);
	else if (us->yama_scope == 3)
		find(fs, "yama", STATE_NO,
			"forbids tracing to everybody (ptrace_scope 3) until the machine is booted "
			"with another setting");
	else
		find(fs, "yama", STATE_NO,
			"forbids tracing of what is not our descendant (ptrace_scope %ld). Run "
			"memdiag as root, or: sysctl kernel.yama.ptrace_scope=0", us->yama_scope);
}

static void
look_at_rights(struct findings *fs)
{
	struct os_rights us;

	os_rights(&us);
	if (us.has_ptrace)
		find(fs, "rights", STATE_YES,
			"uid %u with CAP_SYS_PTRACE: processes of all users%s", us.uid,
			us.has_read ? "" : ", but pages only of its own: no CAP_DAC_READ_SEARCH");
	else
		find(fs, "rights", STATE_NOTE,
			"uid %u without CAP_SYS_PTRACE: processes of that user only. For others "
			"run memdiag as root; in a container, --cap-add=SYS_PTRACE", us.uid);
	look_at_yama(fs, &us);
	if (us.has_filter)
		find(fs, "seccomp", STATE_NOTE,
			"a filter is on memdiag itself, as containers have: if calls are "
			"refused, try --security-opt seccomp=unconfined");
	if (!us.is_first_user_namespace)
		find(fs, "namespace", STATE_NOTE,
			"memdiag is in a user namespace: processes outside of it are out of reach");
	find(fs, "security", STATE_NOTE, "modules of the kernel: %s", us.lsm);
	find(fs, "processor", STATE_NOTE, "calls can be made in " MD_HOST_CPU " processes");
}

/* ---- the process ---- */

/* What is known of it so far. */
struct seen {
	struct target target;
	struct maps maps;
	struct objects objects;
	struct inject_target *inject;
	struct arenas arenas;
	bool has_maps, has_arenas;
};

static void
seen_release(struct seen *s)
{
	inject_target_free(s->inject);
	arenas_release(&s->arenas);
	objects_release(&s->objects);
	maps_release(&s->maps);
	target_release(&s->target);
}

/* DID failed with E; where that was for want of a right, say which. */
static void
find_failure(struct findings *fs, const char *about, const struct seen *s, const char *did,
	const struct err *e)
{
	struct err why = *e;

	if (e->kind == ERR_PERMISSION)
		os_diagnose_eperm(&s->target, did, &why);
	find(fs, about, STATE_NO, "%s", why.msg);
}

static void
look_at_process(struct findings *fs, struct seen *s)
{
	struct os_status st;
	struct err e;

	if (os_status(&s->target, 0, &st, &e) < 0) {
		find(fs, "process", STATE_NO, "%s", e.msg);
		return;
	}
	find(fs, "process", STATE_YES, "%s, uid %u, %d thread%s, state %c%s", s->target.comm,
		st.uid, st.nr_threads, st.nr_threads == 1 ? "" : "s", st.state,
		st.nr_pid_namespaces > 1 ? ", in a PID namespace of its own" : "");
	if (st.seccomp)
		find(fs, "its seccomp", STATE_NOTE,
			"a filter is on it: --capture=fd2 is refused, and count where the filter would "
			"end the process");
	if (os_is_frozen(&s->target))
		find(fs, "freezer", STATE_NO, "its cgroup is frozen: thaw it before calls");
	if (st.state == 'T' || st.state == 't')
		find(fs, "stopped", STATE_NO, "it stands still: kill -CONT %d before calls",
			(int)s->target.pid);
}

/* Opening mem asks for the right to attach without attaching (fs/proc/base.c, mem_open()). */
static void
look_at_tracing(struct findings *fs, struct seen *s)
{
	auto_fd int fd = -1;
	struct os_status st;
	struct err e;

	fd = os_proc_open(&s->target, "mem", O_RDONLY, &e);
	if (fd < 0 || (os_status(&s->target, 0, &st, &e) == 0 && st.tracer)) {
		os_diagnose_eperm(&s->target, "attach to it", &e);
		find(fs, "tracing", STATE_NO, "%s", e.msg);
	} else {
		find(fs, "tracing", STATE_YES,
			"its threads may be stopped, and nobody else traces it");
	}
}

static void
look_at_pages(struct findings *fs, struct seen *s)
{
	auto_pages struct os_pages *pages = NULL;
	auto_fd int fd = -1;
	struct err e;

	if (os_pages_open(&pages, &s->target, OS_PAGES_AUTO, &e) < 0)
		find_failure(fs, "resident pages", s, "count its pages", &e);
	else
		find(fs, "resident pages", STATE_YES, "can be counted%s",
			os_pages_by(pages) == OS_PAGES_SCAN ? "" : "; zero pages look resident");
	fd = os_proc_open(&s->target, "smaps", O_RDONLY, &e);
	if (fd < 0)
		find_failure(fs, "smaps", s, "read its smaps", &e);
	else
		find(fs, "smaps", STATE_YES, "PSS and USS can be told (maps --pss)");
}

static void
look_at_mappings(struct findings *fs, struct seen *s)
{
	struct err e;

	if (maps_read(&s->maps, &s->target, &e) < 0 ||
		objects_find(&s->objects, &s->maps, &s->target, NULL, &e) < 0) {
		find_failure(fs, "mappings", s, "read its mappings", &e);
		return;
	}
	s->has_maps = true;
	find(fs, "mappings", STATE_YES, "%zu, of them %zu programs and libraries", s->maps.nr,
		s->objects.nr);
}

static void
look_at_malloc(struct findings *fs, struct seen *s)
{
	const struct object *o = objects_malloc(&s->objects, &s->target);
	char path[256];
	struct err e;

	if (o)
		find(fs, "allocator", o->is_libc ? STATE_YES : STATE_NOTE, "malloc is that of %s%s",
			text_printable(o->path, path, sizeof path), o->is_libc ? " (glibc)" : "");
	else
		find(fs, "allocator", STATE_UNKNOWN, "which library serves malloc cannot be told");
	if (inject_target_new(&s->inject, &s->target, &s->maps, &s->objects, &e) < 0 ||
		inject_check_calls(s->inject, &e) < 0)
		find(fs, "calls", STATE_NO, "%s", e.msg);
	else
		find(fs, "calls", STATE_YES, "malloc_info and malloc_trim can be called: glibc %s",
			inject_libc_version(s->inject));
}

static void
look_at_arenas(struct findings *fs, struct seen *s)
{
	struct heap_layout layout;
	struct err e;

	if (arenas_find(&s->arenas, &s->target, &s->maps, &s->objects, NULL, &e) < 0) {
		find(fs, "arenas", STATE_NO, "%s", e.msg);
		return;
	}
	s->has_arenas = true;
	find(fs, "arenas", s->arenas.is_ring_closed ? STATE_YES : STATE_NO, "%zu found%s",
		s->arenas.nr,
		s->arenas.is_ring_closed ? "" : ", but their ring is not closed: it is damaged");
	if (heap_layout_find(&layout, &s->target, &s->maps, &s->objects, &s->arenas, &e) < 0)
		find(fs, "layout", STATE_NO, "%s", e.msg);
	else
		find(fs, "layout", layout.mp.v ? STATE_YES : STATE_NO,
			"of malloc: as in glibc %s, by %s%s", layout.era, layout.found_by,
			layout.mp.v ? "" : "; malloc's settings were not found");
}

static void
look_at_threads(struct findings *fs, struct seen *s)
{
	struct inject_outlook look;
	struct err e;

	if (!s->inject || !s->has_arenas)
		find(fs, "threads", STATE_UNKNOWN,
			"which could be borrowed: calls and arenas come first");
	else if (inject_outlook(s->inject, &s->arenas, &look, &e) < 0)
		find(fs, "threads", STATE_NO, "%s", e.msg);
	else if (look.nr_parked)
		find(fs, "threads", STATE_YES, "%zu or more wait where they can be borrowed",
			look.nr_parked);
	else if (look.nr_running)
		find(fs, "threads", STATE_YES,
			"%zu run: one that is stopped outside of malloc can be borrowed, so it may "
			"take some tries", look.nr_running);
	else
		find(fs, "threads", STATE_NO,
			"none can be borrowed at the moment%s%s. heap and maps need none; or try "
			"again, with a longer --wait", *look.refused ? ": " : "", look.refused);
}

static void
look_at_cgroup(struct findings *fs, struct seen *s)
{
	uint64_t limit, used;
	char a[32], b[32];

	if (os_cgroup_memory(&s->target, &limit, &used) < 0)
		find(fs, "cgroup", STATE_NOTE, "sets no limit on its memory");
	else
		find(fs, "cgroup", STATE_NOTE, "limits memory to %s, of which %s is used",
			text_bytes(limit, a, sizeof a), text_bytes(used, b, sizeof b));
}

static void
look_at_target(struct findings *fs, struct seen *s)
{
	look_at_process(fs, s);
	look_at_mappings(fs, s);
	look_at_tracing(fs, s);
	look_at_pages(fs, s);
	if (s->has_maps) {
		look_at_malloc(fs, s);
		look_at_arenas(fs, s);
		look_at_threads(fs, s);
	} else {
		find(fs, "malloc", STATE_UNKNOWN, "the mappings must be read first");
	}
	look_at_cgroup(fs, s);
}

/* ---- showing ---- */

static void
show_text(const struct findings *fs, const struct ui_output *out, const struct target *t)
{
	for (size_t i = 0; i < fs->nr; i++) {
		const struct finding *f = &fs->v[i];
		bool is_red = f->state == STATE_NO && out->use_colour;

		if (i == 0)
			fputs("This machine\n", out->f);
		else if (!f->is_of_machine && fs->v[i - 1].is_of_machine)
			fprintf(out->f, "\nProcess %d (%s)\n", (int)t->pid, t->comm);
		fprintf(out->f, "  %s%-4s%s %-14s ", is_red ? "\033[1;31m" : "",
			state_name[f->state], is_red ? "\033[0m" : "", f->about);
		ui_wrap(out, LEAD_COLUMNS, f->text);
	}
}

static int
show_json(const struct findings *fs, struct ui_output *out, const struct target *t, struct err *e)
{
	json_auto_t *document = ui_json_new("doctor", t);
	json_t *list = json_array();

	if (json_object_set_new(json_object_get(document, "data"), "findings", list) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	for (size_t i = 0; i < fs->nr; i++) {
		const struct finding *f = &fs->v[i];

		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:o}", "of",
				f->is_of_machine ? "machine" : "process", "about", f->about,
				"state",
				f->state == STATE_UNKNOWN ? "unknown" : state_name[f->state],
				"text", ui_json_string(f->text)));
		if (f->state == STATE_NO)
			ui_json_warn(document, true, "%s: %s", f->about, f->text);
	}
	return ui_json_print(document, out, e);
}

static int
run(int argc, char **argv, struct err *e)
{
	struct ui_options o = { .pid_optional = true };
	__attribute__((cleanup(seen_release))) struct seen s = { .target = TARGET_NONE };
	struct findings fs = { .is_of_machine = true };
	auto_output struct ui_output out = { 0 };
	auto_free struct finding *owned = NULL;
	const struct target *t = NULL;

	ui_parse(&argp, argc, argv, &o);
	deadline_set(o.timeout_ns);
	if (ui_output_open(&out, &o, e) < 0 || (o.pid && target_open(&s.target, o.pid, e) < 0))
		return -1;
	look_at_kernel(&fs);
	look_at_rights(&fs);
	fs.is_of_machine = false;
	if (o.pid) {
		t = &s.target;
		look_at_target(&fs, &s);
	}
	owned = fs.v;
	if (o.json) {
		if (show_json(&fs, &out, t, e) < 0)
			return -1;
	} else {
		show_text(&fs, &out, t);
	}
	if (ui_output_close(&out, e) < 0)
		return -1;
	return nr_of(&fs, STATE_NO) ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "what memdiag can see of a process, and what is in the way",
	.touch = CMD_READS_TARGET,
	.run = run,
};
