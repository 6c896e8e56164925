/* Start and stop sampling in a running process. */
#include <config.h>

#include "agentctl/sampler-job.h"

#include <stddef.h>
#include <unistd.h>

#include "agentctl/host.h"
#include "base/text.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "inject/load-call.h"
#include "inject/target.h"
#include "os/cgroup.h"
#include "os/claim.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"
#include "wire/log.h"
#include "wire/sites.h"

/*
 * Room for the sites: a file of 224 MiB, of which only the used part takes memory.  If the target's
 * address space is too limited for that, a file of 3 MiB.  A log adds to it, at most 1 MiB in the
 * second case.
 */
static const struct wire_sites_size sizes[] = {
	{ WIRE_SITES_MAX_NODES, WIRE_SITES_MAX_SITES, WIRE_LOG_MAX_BLOCKS },
	{ UINT32_C(1) << 16, UINT32_C(1) << 13, 64 },
};

static struct wire_sites_size
size_for(const struct sampler_wanted *wanted, struct wire_sites_size most)
{
	const uint64_t nr = wanted->log_bytes / WIRE_LOG_BLOCK_BYTES;

	if (nr < most.nr_log_blocks)
		most.nr_log_blocks = (uint32_t)nr;
	return most;
}

/* Find the address of the agent's request_serve(). */
static int
find_request(const struct host *s, raddr *ret, struct err *e)
{
	return os_read(s->target, raddr_add(s->agent.live_at, offsetof(struct wire_live, request)),
		ret, sizeof *ret, e);
}

/* Add the addresses that the agent cannot find in a program without a dynamic linker. */
static void
describe_program(const struct host *s, struct wire_request *r)
{
	const struct object *program = objects_malloc(&s->process.objects, s->target);
	raddr frames;

	if (!inject_is_static(s->callee) || !program)
		return;
	r->program = program->start.v;
	r->vdso = s->process.objects.vdso.v;
	if (image_section(program->image, ".eh_frame", &frames, &r->frames_bytes) == 0)
		r->frames = frames.v;
}

/* Have the agent prepare.  Returns 1 if it has no memory for that size. */
static int
sampler_job_request(const struct host *s, const struct inject_options *opt, raddr fn,
	const struct sampler_wanted *wanted, const struct wire_sites_size *size,
	struct sampler_job *p, int *ret_fd, struct err *e)
{
	struct wire_request r = { .max_nodes = size->max_nodes,
		.max_sites = size->max_sites,
		.nr_log_blocks = size->nr_log_blocks,
		.opens_log = wanted->opens_log,
		.max_bytes = wanted->max_bytes,
		.live_set = wanted->live_set,
		.period_bytes = wanted->capture == WIRE_RECORD ? 0 : wanted->period_bytes,
		.triggers = wanted->triggers };
	struct library_call call = { .name = "a function of the agent",
		.fn = fn,
		.block = &r,
		.block_bytes = sizeof r,
		.file_name = WIRE_SITES_NAME,
		.file_bytes = wire_sites_make(NULL, size),
		.fd_there = &r.fd,
		.ret_fd = ret_fd };

	describe_program(s, &r);
	if (load_call(s->callee, &s->process.arenas, opt, &call, &p->borrowed, e) < 0)
		return -1;
	if (r.is_done)
		return 0;
	close(*ret_fd);
	*ret_fd = -1;
	return 1;
}

static int
sampler_job_get_ready(const struct host *s, const struct inject_options *opt,
	const struct sampler_wanted *wanted, struct sampler_job *p, int *ret_fd, struct err *e)
{
	struct wire_sites_size size;
	int status = 1;
	raddr fn;

	if (find_request(s, &fn, e) < 0)
		return -1;
	for (size_t i = 0; status > 0 && i < sizeof sizes / sizeof *sizes; i++) {
		size = size_for(wanted, sizes[i]);
		status = sampler_job_request(s, opt, fn, wanted, &size, p, ret_fd, e);
	}
	if (status <= 0)
		return status;
	return err_set_kind(e, ERR_FAILED, 0,
		"the agent in %d (%s) cannot begin: it has no memory, a thread is held up while it notes something, or the program begins or ends a record itself",
		s->target->pid, s->target->comm);
}

/* The least memory for the sites of samples; a record needs SAMPLER_RECORD_LEAST_BYTES. */
#define SAMPLES_LEAST_BYTES (UINT64_C(2) << 20)

static int
sampler_job_refuse_room(const struct target *t, const struct os_memory_room *room,
	uint64_t needed_bytes, struct err *e)
{
	char left[32], limit[32], needed[32];

	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"the cgroup of %d (%s) has %s left below %s (%s), and this takes up to %s there; "
		"nothing was changed",
		t->pid, t->comm, text_bytes(room->bytes, left, sizeof left), room->limit_name,
		text_bytes(room->limit_bytes, limit, sizeof limit),
		text_bytes(needed_bytes, needed, sizeof needed));
	return err_hint(e,
		"The kernel could kill it for that. "
		"Raise the limit for the moment, or sample with 'memdiag profile start'");
}

/*
 * Bound the sampler's memory by the room left in the cgroups of T, beyond which the kernel kills:
 * half of it, unless WANTED has a number, which must fit.
 */
static int
sampler_job_bound(
	const struct target *t, struct sampler_wanted *wanted, struct sampler_job *p, struct err *e)
{
	const uint64_t least =
		wanted->capture == WIRE_RECORD ? SAMPLER_RECORD_LEAST_BYTES : SAMPLES_LEAST_BYTES;
	struct os_memory_room room;

	os_memory_room(t, &room);
	if (room.bytes == UINT64_MAX)
		return 0;
	if (!wanted->max_bytes && room.bytes / 2 < least)
		return sampler_job_refuse_room(t, &room, 2 * least, e);
	if (wanted->max_bytes > room.bytes)
		return sampler_job_refuse_room(t, &room, wanted->max_bytes, e);
	if (!wanted->max_bytes)
		wanted->max_bytes = room.bytes / 2;
	p->max_bytes = wanted->max_bytes;
	p->room_bytes = room.bytes;
	p->limit_name = room.limit_name;
	return 0;
}

static int
set_noting(const struct host *s, enum wire_noting noting, struct err *e)
{
	s->agent.segment->noting = noting;
	return host_write(s, offsetof(struct wire_segment, noting),
		offsetof(struct wire_segment, noting) + sizeof s->agent.segment->noting, e);
}

static enum wire_noting
noting_of(enum wire_capture capture)
{
	return capture == WIRE_RECORD ? WIRE_NOTE_ALL : WIRE_NOTE_SAMPLES;
}

/* Refuse if the other capture is running: only one can run at a time. */
static int
sampler_job_refuse_other(const struct host *s, enum wire_capture capture, struct err *e)
{
	const enum wire_noting now = host_noting(s);

	if (now == WIRE_NOTE_NOTHING || now == noting_of(capture))
		return 0;
	err_set_kind(e, ERR_FAILED, 0, "%d (%s) is being %s", s->target->pid, s->target->comm,
		now == WIRE_NOTE_ALL ? "recorded" : "profiled");
	return err_hint(e, "'memdiag %s stop -p %d' ends that",
		now == WIRE_NOTE_ALL ? "record" : "profile", s->target->pid);
}

static int
sampler_job_begin(struct host *s, const struct inject_options *opt,
	const struct sampler_wanted *wanted, struct sampler_job *p, int *ret_fd, struct err *e)
{
	const enum wire_noting noting = noting_of(wanted->capture);
	const bool counts = agent_segment_is_counting(&s->agent);
	struct inject_report borrowed;
	struct hook_report lifted;
	struct err ignored;

	if (host_prepare(s, opt, p->is_new, e) < 0 ||
		sampler_job_get_ready(s, opt, wanted, p, ret_fd, e) < 0)
		return -1;
	/* Mark it last: if memdiag is killed, hooks may exist without a mark, never the reverse. */
	if (host_set_hooks(s, counts, noting, opt, &p->hooked, &borrowed, e) == 0) {
		if (set_noting(s, noting, e) == 0)
			return 0;
		host_end_job(s, counts, WIRE_NOTE_NOTHING, opt, &lifted, &ignored);
	}
	close(*ret_fd);
	*ret_fd = -1;
	return -1;
}

int
sampler_job_start(const struct target *t, const struct inject_options *opt,
	const struct sampler_wanted *wanted, const char *agent, struct sampler_job *ret,
	int *ret_fd, struct err *e)
{
	auto_host struct host s = { .target = t };
	struct sampler_wanted bounded = *wanted;
	struct host_arrival arrival;

	*ret = (struct sampler_job){ .period_bytes = wanted->period_bytes,
		.triggers = wanted->triggers };
	*ret_fd = -1;
	if (target_claim(t, opt->wait_ns, e) < 0 || host_look(&s, e) < 0 ||
		(!host_is_preloaded(&s) && hook_check(t, e) < 0) ||
		(!host_noting(&s) && sampler_job_bound(t, &bounded, ret, e) < 0))
		return -1;
	if (s.is_other && wanted->capture == WIRE_RECORD) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) uses %s, and record is for glibc's malloc alone", s.target->pid,
			s.target->comm, s.other.inject.name);
		return err_hint(
			e, "'memdiag profile --rate 1 --sampler=agent' notes each block, too");
	}
	if (host_bring_agent(&s, opt, agent, &arrival, e) < 0)
		return -1;
	ret->is_new = arrival.is_new;
	ret->nr_children = arrival.borrowed.nr_children;
	ret->child = arrival.borrowed.child;
	if (sampler_job_refuse_other(&s, wanted->capture, e) < 0)
		return -1;
	ret->was_so = host_noting(&s);
	return ret->was_so ? 0 : sampler_job_begin(&s, opt, &bounded, ret, ret_fd, e);
}

/*
 * Have the agent free the memory of the sampler: 185 KiB for each thread, and for a record 4 bytes
 * for each 16 of the heap.  False if it was not freed.
 */
static bool
sampler_job_give_back(struct host *s, const struct inject_options *opt)
{
	struct wire_request r = { .is_end = true };
	struct library_call call = { .name = "a function of the agent",
		.block = &r,
		.block_bytes = sizeof r,
		.may_be_borrowed = true };
	struct inject_report borrowed;
	struct err ignored;

	/* Read again: its functions are no longer hooked. */
	return host_look(s, &ignored) == 0 && find_request(s, &call.fn, &ignored) == 0 &&
		load_call(s->callee, &s->process.arenas, opt, &call, &borrowed, &ignored) == 0 &&
		r.is_done;
}

int
sampler_job_stop(const struct target *t, const struct inject_options *opt,
	enum wire_capture capture, struct sampler_job *ret, struct err *e)
{
	auto_host struct host s = { .target = t };
	bool counts, was_noting;

	*ret = (struct sampler_job){ .was_so = false };
	if (target_claim(t, opt->wait_ns, e) < 0 || host_look(&s, e) < 0 ||
		sampler_job_refuse_other(&s, capture, e) < 0)
		return -1;
	counts = agent_segment_is_counting(&s.agent);
	was_noting = host_noting(&s);
	/*
	 * Unmark it before the hooks are lifted: a memdiag that is killed in between leaves hooks,
	 * which the next start or stop lifts.
	 */
	if (was_noting && set_noting(&s, WIRE_NOTE_NOTHING, e) < 0)
		return -1;
	if ((was_noting || !counts) &&
		host_end_job(&s, counts, WIRE_NOTE_NOTHING, opt, &ret->hooked, e) < 0)
		return -1;
	ret->was_so = !was_noting && !ret->hooked.nr_entries && !ret->hooked.nr_slots;
	ret->keeps_memory = was_noting && !sampler_job_give_back(&s, opt);
	return 0;
}

int
sampler_job_count_dump(const struct sites_copy *c, const struct target *t, struct err *e)
{
	const raddr at = raddr_add(c->at, offsetof(struct wire_sites, nr_dumps));
	uint32_t nr;

	/* Read the present number: other memdiags may have written files since the copy. */
	if (os_read(t, at, &nr, sizeof nr, e) < 0)
		return -1;
	nr++;
	return os_part_write(
		t, &(struct os_part){ "a number of dumps", at, sizeof nr }, at, &nr, sizeof nr, e);
}
