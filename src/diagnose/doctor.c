#include <config.h>

#include "diagnose/doctor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "glibc/layout.h"
#include "glibc/process.h"
#include "inject/needs.h"
#include "inject/pick.h"
#include "inject/target.h"
#include "jemalloc/find.h"
#include "jemalloc/jemalloc.h"
#include "os/cgroup.h"
#include "os/diagnose.h"
#include "os/machine.h"
#include "os/memory.h"
#include "os/pages.h"
#include "os/perf.h"
#include "os/proc.h"
#include "os/rights.h"
#include "os/status.h"
#include "os/target.h"
#include "os/tracefs.h"

/* Space needed to call into a process, and for count start. */
#define LITTLE_ROOM_BYTES (UINT64_C(4) << 20)

/* ---- findings ---- */

static void __attribute__((format(printf, 4, 5)))
doctor_find(struct findings *fs, const char *about, enum finding_state state, const char *fmt, ...)
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

size_t
findings_count(const struct findings *fs, enum finding_state state)
{
	size_t nr = 0;

	for (size_t i = 0; i < fs->nr; i++)
		nr += fs->v[i].state == state;
	return nr;
}

void
findings_release(struct findings *fs)
{
	free(fs->v);
}

/* ---- the machine ---- */

#define ZERO_PAGES_COUNT                                                                           \
	"; zero pages count as resident: CAP_SYS_ADMIN and /proc/kpageflags show them"

static void
check_kernel(struct findings *fs)
{
	auto_target struct target self = TARGET_NONE;
	auto_pages struct os_pages *pages = NULL;
	struct utsname name;
	struct err e;
	int byte = 0;

	if (uname(&name) == 0)
		doctor_find(fs, "kernel", FINDING_NOTE, "%s %s on %s, %d CPUs", name.sysname,
			name.release, name.machine, os_nr_cpus());
	if (target_open(&self, getpid(), &e) < 0) {
		doctor_find(fs, "proc", FINDING_NO, "cannot read memdiag's own files: %s", e.msg);
		return;
	}
	if (os_read(&self, (raddr){ (uintptr_t)&byte }, &byte, sizeof byte, &e) < 0)
		doctor_find(fs, "memory", FINDING_NO, "%s", e.msg);
	else
		doctor_find(fs, "memory", FINDING_YES, "can be read (/proc/PID/mem)");
	if (os_pages_open(&pages, &self, OS_PAGES_SCAN, &e) == 0)
		doctor_find(fs, "pages", FINDING_YES, "are counted by PAGEMAP_SCAN");
	else if (os_pages_open(&pages, &self, OS_PAGES_PAGEMAP, &e) == 0)
		doctor_find(fs, "pages", FINDING_YES,
			"are counted by pagemap%s; PAGEMAP_SCAN needs Linux 6.7, is faster and "
			"shows huge pages",
			os_pages_know_zero(pages) ? "" : ZERO_PAGES_COUNT);
	else
		doctor_find(fs, "pages", FINDING_NO, "%s", e.msg);
	if (self.pidfd < 0)
		doctor_find(fs, "pidfd", FINDING_NOTE,
			"needs Linux 5.3; without it, exit is noticed later");
}

static void
check_yama(struct findings *fs, const struct os_rights *us)
{
	if (!us->yama_scope)
		doctor_find(fs, "yama", FINDING_YES, "does not restrict tracing");
	else if (us->has_ptrace && us->yama_scope < 3)
		doctor_find(fs, "yama", FINDING_YES,
			"restricts tracing (ptrace_scope %ld); memdiag is exempt (CAP_SYS_PTRACE)",
			us->yama_scope);
	else if (us->yama_scope == 3)
		doctor_find(fs, "yama", FINDING_NO,
			"forbids all tracing (ptrace_scope 3) until the machine is booted with "
			"another setting");
	else
		doctor_find(fs, "yama", FINDING_NO,
			"allows tracing only %s (ptrace_scope %ld). %s, or: sysctl "
			"kernel.yama.ptrace_scope=0",
			us->yama_scope == 1 ? "of memdiag's own descendants"
					    : "with CAP_SYS_PTRACE",
			us->yama_scope,
			us->uid ? "Run memdiag as root" : "Give memdiag CAP_SYS_PTRACE");
}

static void
check_proc(struct findings *fs, const struct os_rights *us)
{
	if (us->hides_others)
		doctor_find(fs, "proc", FINDING_NO, OS_HIDES ". " OS_HIDES_HELP, us->hidepid);
	else
		doctor_find(fs, "proc", FINDING_YES, "shows the processes of all users%s%s%s",
			us->hidepid[0] ? " to memdiag (" : "", us->hidepid,
			us->hidepid[0] ? ")" : "");
}

static void
doctor_check_rights(struct findings *fs)
{
	struct os_rights us;

	os_rights(&us);
	if (us.has_ptrace)
		doctor_find(fs, "rights", FINDING_YES,
			"uid %u with CAP_SYS_PTRACE: processes of all users%s", us.uid,
			us.has_read ? "" : ", but pages only of its own: no CAP_DAC_READ_SEARCH");
	else if (!us.uid)
		doctor_find(fs, "rights", FINDING_NOTE,
			"root without CAP_SYS_PTRACE: only processes of root with no more "
			"capabilities than memdiag. In a container, --cap-add=SYS_PTRACE");
	else
		doctor_find(fs, "rights", FINDING_NOTE,
			"uid %u without CAP_SYS_PTRACE: processes of that user only. For others "
			"run memdiag as root; in a container, --cap-add=SYS_PTRACE",
			us.uid);
	check_yama(fs, &us);
	check_proc(fs, &us);
	if (us.has_filter)
		doctor_find(fs, "seccomp", FINDING_NOTE,
			"a filter applies to memdiag itself, as in containers: if calls are "
			"refused, try --security-opt seccomp=unconfined");
	if (!us.is_first_user_namespace)
		doctor_find(fs, "namespace", FINDING_NOTE,
			"memdiag runs in a user namespace: it cannot trace processes outside");
	doctor_find(fs, "security", FINDING_NOTE, "Linux security modules: %s%s%s", us.lsm,
		us.label[0] ? "; memdiag is confined, and may be refused calls: it runs as " : "",
		us.label);
	doctor_find(
		fs, "processor", FINDING_NOTE, "calls can be made in " MD_HOST_CPU " processes");
}

/*
 * Check that opening SOURCE is allowed: it is opened briefly, with a period that no event reaches.
 */
static bool
may_watch(struct perf_source source, struct err *e)
{
	const struct perf_options o = { .source = &source, .nr_sources = 1, .ring_bytes = 1 };
	auto_perf struct perf *p = NULL;

	source.period = UINT64_C(1) << 40;
	return perf_open(&p, &o, e) == 0;
}

/* Only trace needs events, so a failure here is never a "no". */
static void
check_events(struct findings *fs)
{
	struct perf_source source = { .kind = PERF_MAJOR_FAULTS };
	auto_tracefs struct tracefs tracefs = TRACEFS_NONE;
	struct err e;

	if (!may_watch(source, &e)) {
		doctor_find(fs, "events", FINDING_NOTE, "trace cannot be used: %s", e.msg);
		return;
	}
	source.kind = PERF_TRACEPOINT;
	if (tracefs_open(&tracefs, false, &e) < 0 ||
		tracefs_id(&tracefs, "syscalls/sys_enter_shmdt", &source.id, &e) < 0 ||
		!may_watch(source, &e))
		doctor_find(fs, "events", FINDING_NOTE,
			"trace --rss can be used, trace not yet: %s", e.msg);
	else
		doctor_find(fs, "events", FINDING_YES, "trace can be used");
}

void
doctor_check_machine(struct findings *fs)
{
	fs->is_of_machine = true;
	check_kernel(fs);
	doctor_check_rights(fs);
	check_events(fs);
}

/* ---- the process ---- */

/* The facts known so far. */
struct known {
	const struct target *target;
	struct process process;
	bool is_jemalloc; /* the process uses JEMALLOC, not glibc's malloc */
	struct jemalloc jemalloc;
	struct inject_target *inject;
	bool has_maps, has_arenas;
};

static void
known_release(struct known *k)
{
	inject_target_free(k->inject);
	process_release(&k->process);
}

/* Report that DID failed with E; for a missing privilege, name it. */
static void
find_failure(struct findings *fs, const char *about, const struct known *k, const char *did,
	const struct err *e)
{
	struct err why = *e;

	if (e->kind == ERR_PERMISSION)
		os_diagnose_eperm(k->target, did, &why);
	doctor_find(fs, about, FINDING_NO, "%s", why.msg);
}

static void
check_process(struct findings *fs, struct known *k)
{
	struct os_status st;
	struct err e;

	if (os_status(k->target, 0, &st, &e) < 0) {
		doctor_find(fs, "process", FINDING_NO, "%s", e.msg);
		return;
	}
	doctor_find(fs, "process", FINDING_YES, "%s, uid %u, %d thread%s, state %c%s",
		k->target->comm, st.uid, st.nr_threads, st.nr_threads == 1 ? "" : "s", st.state,
		st.nr_pid_namespaces > 1 ? ", in a PID namespace of its own" : "");
	if (st.seccomp)
		doctor_find(fs, "its seccomp", FINDING_NOTE,
			"a filter applies to it: --capture=fd2 is refused, and so is each "
			"operation that takes a call which the filter does not let pass");
	if (os_is_frozen(k->target))
		doctor_find(fs, "freezer", FINDING_NO,
			"its cgroup is frozen: calls are possible after it is thawed");
	if (st.tracer && st.state == 't')
		doctor_find(fs, "stopped", FINDING_NO,
			"its tracer (process %d) has stopped it: end the tracer first",
			(int)st.tracer);
	else if (st.state == 'T' || st.state == 't')
		doctor_find(fs, "stopped", FINDING_NO,
			"it is stopped: run kill -CONT %d before calls", (int)k->target->pid);
}

/* Opening mem checks the right to attach without attaching (fs/proc/base.c, mem_open()). */
static void
check_tracing(struct findings *fs, struct known *k)
{
	auto_fd int fd = -1;
	struct os_status st;
	struct err e;

	fd = os_proc_open(k->target, "mem", O_RDONLY, &e);
	if (fd < 0 || (os_status(k->target, 0, &st, &e) == 0 && st.tracer)) {
		os_diagnose_eperm(k->target, "attach to it", &e);
		doctor_find(fs, "tracing", FINDING_NO, "%s", e.msg);
	} else {
		doctor_find(fs, "tracing", FINDING_YES,
			"memdiag may stop its threads; no other tracer is attached");
	}
}

static void
doctor_check_pages(struct findings *fs, struct known *k)
{
	auto_pages struct os_pages *pages = NULL;
	auto_fd int fd = -1;
	struct err e;

	if (os_pages_open(&pages, k->target, OS_PAGES_AUTO, &e) < 0)
		find_failure(fs, "resident pages", k, "count its pages", &e);
	else
		doctor_find(fs, "resident pages", FINDING_YES, "can be counted%s",
			os_pages_know_zero(pages) ? "" : ZERO_PAGES_COUNT);
	fd = os_proc_open(k->target, "smaps", O_RDONLY, &e);
	if (fd < 0)
		find_failure(fs, "smaps", k, "read its smaps", &e);
	else
		doctor_find(fs, "smaps", FINDING_YES, "PSS and USS are available (maps --pss)");
}

static void
check_mappings(struct findings *fs, struct known *k)
{
	struct err e;

	if (process_read(&k->process, k->target, &e) < 0) {
		find_failure(fs, "mappings", k, "read its mappings", &e);
		return;
	}
	k->has_maps = true;
	doctor_find(fs, "mappings", FINDING_YES, "%zu, with %zu programs and libraries",
		k->process.maps.nr, k->process.objects.nr);
}

static int
learn_jemalloc(struct known *k, struct err *e)
{
	return inject_check_state(k->target, e) < 0
		? -1
		: inject_target_learn_other(&k->inject, &k->process, &k->jemalloc.inject, e);
}

static void
check_malloc(struct findings *fs, struct known *k)
{
	const struct object *o;
	char path[256];
	struct err e;

	if (os_check_memory(k->target, &e) < 0) {
		doctor_find(fs, "allocator", FINDING_NO, "%s", e.msg);
		return;
	}
	o = objects_malloc(&k->process.objects, k->target);
	if (o)
		doctor_find(fs, "allocator", o->is_libc ? FINDING_YES : FINDING_NOTE,
			"malloc is from %s%s", text_printable(o->path, path, sizeof path),
			o->is_libc ? " (glibc)" : "");
	else
		doctor_find(fs, "allocator", FINDING_UNKNOWN,
			"cannot determine which library provides malloc");
	k->is_jemalloc = jemalloc_find(&k->jemalloc, &k->process, MALLOC_AUTO, &e) > 0;
	if ((k->is_jemalloc ? learn_jemalloc(k, &e)
			    : inject_target_new(&k->inject, &k->process, &e)) < 0 ||
		inject_check_calls(k->inject, &e) < 0)
		doctor_find(fs, "calls", FINDING_NO, "%s", e.msg);
	else if (k->is_jemalloc)
		doctor_find(fs, "calls", FINDING_YES,
			"jemalloc's %smallctl can be called: info, trim and profile; heap is for "
			"glibc's malloc",
			k->jemalloc.prefix);
	else
		doctor_find(fs, "calls", FINDING_YES,
			"malloc_info and malloc_trim can be called: glibc %s",
			inject_libc_version(k->inject));
}

/* Append to TEXT the names of the calls in NEEDS, each once, after LEAD. */
static void
append_calls(char *text, size_t size, const char *lead, unsigned int needs, const char *version)
{
	const char *name, *earlier;
	size_t len = strlen(text), nr = 0;

	for (size_t i = 0; (name = needs_name(needs, version, i)); i++) {
		bool is_new = true;

		for (size_t k = 0; k < i && (earlier = needs_name(needs, version, k)); k++)
			is_new &= strcmp(earlier, name) != 0;
		if (is_new && len < size)
			len += (size_t)snprintf(
				text + len, size - len, "%s%s", nr++ ? ", " : lead, name);
	}
}

/*
 * List the system calls that each operation makes in the process, for the author of its seccomp
 * filter.
 */
static void
find_calls(struct findings *fs, const struct known *k)
{
	static const struct {
		const char *about;
		/* calls for one thread; additional calls for several threads */
		unsigned int needs, threads;
	} operations[] = {
		{ "calls of info", NEEDS_BORROW, NEEDS_LOCKS | NEEDS_HELPER },
		{ "calls of trim", NEEDS_BORROW | NEEDS_TRIM, NEEDS_LOCKS | NEEDS_HELPER },
		{ "calls of --tops", NEEDS_BORROW | NEEDS_TOPS, NEEDS_LOCKS | NEEDS_HELPER },
		{ "calls of --fork", NEEDS_BORROW | NEEDS_COPY, NEEDS_LOCKS | NEEDS_HELPER },
		{ "calls of agent", NEEDS_BORROW | NEEDS_LOAD | NEEDS_HOOKS | NEEDS_AGENT,
			NEEDS_LOCKS | NEEDS_HELPER },
	};
	const char *version = inject_libc_version(k->inject);

	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
		char text[600] = "";

		append_calls(text, sizeof text, "", operations[i].needs, version);
		append_calls(text, sizeof text, "; with several threads also ",
			operations[i].threads, version);
		doctor_find(fs, operations[i].about, FINDING_NOTE, "%s", text);
	}
}

static void
check_arenas(struct findings *fs, struct known *k)
{
	struct malloc_layout layout;
	struct err e;

	if (k->is_jemalloc) {
		doctor_find(fs, "arenas", FINDING_NOTE, "are jemalloc's: info lists them");
		return;
	}
	if (process_find_arenas(&k->process, NULL, &e) < 0) {
		doctor_find(fs, "arenas", FINDING_NO, "%s", e.msg);
		return;
	}
	k->has_arenas = true;
	doctor_find(fs, "arenas", k->process.arenas.is_ring_closed ? FINDING_YES : FINDING_NO,
		"%zu found%s", k->process.arenas.nr,
		k->process.arenas.is_ring_closed ? ""
						 : ", but their ring is not closed: it is damaged");
	if (malloc_layout_find(&layout, &k->process, &e) < 0)
		doctor_find(fs, "layout", FINDING_NO, "%s", e.msg);
	else
		doctor_find(fs, "layout", layout.mp.v ? FINDING_YES : FINDING_NO,
			"malloc's structures are those of glibc %s: %s%s", layout.era,
			layout.found_by, layout.mp.v ? "" : "; malloc's settings were not found");
}

static void
doctor_check_threads(struct findings *fs, struct known *k)
{
	struct inject_outlook look;
	struct err e;

	if (!k->inject || !(k->has_arenas || k->is_jemalloc))
		doctor_find(fs, "threads", FINDING_UNKNOWN, "unknown until calls and arenas work");
	else if (inject_outlook(k->inject, &k->process.arenas, &look, &e) < 0)
		doctor_find(fs, "threads", FINDING_NO, "%s", e.msg);
	else if (look.nr_parked)
		doctor_find(fs, "threads", FINDING_YES,
			"at least %zu wait where they can be borrowed", look.nr_parked);
	else if (look.nr_running)
		doctor_find(fs, "threads", FINDING_YES,
			"%zu run: one can be borrowed if it is stopped outside malloc, which may "
			"take several attempts",
			look.nr_running);
	else
		doctor_find(fs, "threads", FINDING_NO,
			"none can be borrowed now%s%s. heap and maps need none; or retry with a "
			"longer --wait",
			*look.refused ? ": " : "", look.refused);
}

static void
check_cgroup(struct findings *fs, struct known *k)
{
	struct os_memory_room room;
	struct os_cpu_quota quota;
	uint64_t limit, used;
	char a[32], b[32], c[32];

	if (os_cgroup_memory(k->target, &limit, &used) < 0)
		doctor_find(fs, "cgroup", FINDING_NOTE, "has no memory limit");
	else
		doctor_find(fs, "cgroup", FINDING_NOTE, "memory limit %s, %s in use",
			text_bytes(limit, a, sizeof a), text_bytes(used, b, sizeof b));
	os_memory_room(k->target, &room);
	if (room.bytes < LITTLE_ROOM_BYTES)
		doctor_find(fs, "room", FINDING_NO,
			"only %s of memory is left below its cgroup's %s: calls are refused, "
			"as the kernel could kill the process",
			text_bytes(room.bytes, c, sizeof c), room.limit_name);
	if (!os_cpu_quota(k->target, &quota))
		return;
	if (quota.quota_us < quota.period_us && os_is_throttled(k->target))
		doctor_find(fs, "cpu quota", FINDING_NO,
			"its cgroup may run for %g ms of each %g ms, and that is used up: "
			"a borrowed thread could be stopped that long, so calls are refused",
			(double)quota.quota_us / 1e3, (double)quota.period_us / 1e3);
	else
		doctor_find(fs, "cpu quota", FINDING_NOTE,
			"its cgroup may run for %g ms of each %g ms; that is not used up "
			"now",
			(double)quota.quota_us / 1e3, (double)quota.period_us / 1e3);
}

void
doctor_check_process(struct findings *fs, const struct target *t)
{
	__attribute__((cleanup(known_release))) struct known k = { .target = t };

	fs->is_of_machine = false;
	check_process(fs, &k);
	check_mappings(fs, &k);
	check_tracing(fs, &k);
	doctor_check_pages(fs, &k);
	if (k.has_maps) {
		check_malloc(fs, &k);
		if (!os_sees_proc(k.target))
			doctor_find(fs, "agent", FINDING_NO,
				"count, profile and record cannot load the agent: its root directory "
				"(chroot?) has no /proc");
		check_arenas(fs, &k);
		doctor_check_threads(fs, &k);
		if (k.inject)
			find_calls(fs, &k);
	} else {
		doctor_find(
			fs, "malloc", FINDING_UNKNOWN, "unknown until the mappings can be read");
	}
	check_cgroup(fs, &k);
}
