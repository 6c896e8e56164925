/* Call a function of our library in the target. */
#include <config.h>

#include "inject/load-call.h"

#include "inject/call.h"
#include "inject/job.h"
#include "inject/load-priv.h"
#include "inject/needs.h"
#include "os/descriptors.h"
#include "os/memory.h"
#include "os/os.h"

#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK_OFFSET LOAD_PATH_OFFSET
#define BLOCK_BYTES LOAD_PATH_BYTES

/* Have C open the file; the undo list closes it in the target. */
static int
load_call_open_file(struct library_call *call, const struct load_calls *calls,
	const struct job *job, struct worker *c, struct err *e)
{
	const struct target *t = c->callee->target;
	const raddr name = raddr_add(calls->words, LOAD_PATH_OFFSET);
	const uint64_t arg[] = { name.v, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0 };

	if (load_promise_close(calls, c, e) < 0 ||
		worker_write(c, name, call->file_name, strlen(call->file_name) + 1, e) < 0 ||
		load_make_syscall(calls, job, c, SYS_memfd_create, arg, LOAD_FD_OFFSET,
			"memfd_create", e) < 0)
		return -1;
	*call->fd_there = c->result;
	*call->ret_fd = os_copy_memfd(t, c->tid, (int)c->result, call->file_name, e);
	if (*call->ret_fd < 0)
		return -1;
	return call->file_bytes ? os_fix_size(*call->ret_fd, call->file_bytes, e) : 0;
}

static int
make_call(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	struct library_call *call = job->arg;
	const raddr block = raddr_add(ws->data, BLOCK_OFFSET);
	struct long_call to = { .name = call->name,
		.fn = call->fn,
		.arg = { block.v },
		.nr_args = 1,
		.holds_more = true,
		.deadline_ns = job->deadline_ns };
	struct load_calls calls;

	if (load_calls_begin(&calls, job, c, ws, e) < 0 ||
		(call->file_name && load_call_open_file(call, &calls, job, c, e) < 0))
		return -1;
	if (call->prepare) {
		call->prepare(call, block);
		memcpy(to.arg, call->arg, sizeof to.arg);
		to.nr_args = call->nr_args;
	}
	if (worker_write(c, block, call->block, call->block_bytes, e) < 0 ||
		long_call_make(&to, c, ws, &job->report->call_ns, e) < 0)
		return -1;
	return os_read(c->callee->target, block, call->block, call->block_bytes, e);
}

int
load_call(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	struct library_call *call, struct inject_report *report, struct err *e)
{
	struct job job = { .callee = callee,
		.needs = NEEDS_AGENT,
		.opt = opt,
		.report = report,
		.run = make_call,
		.arg = call,
		.needed_bytes = LOAD_ROOM_BYTES,
		/* It may wait for a lock of ld.so, unless the program has no ld.so. */
		.is_loading = !inject_is_static(callee) && !call->may_be_borrowed };

	*report = (struct inject_report){ 0 };
	if (call->ret_fd)
		*call->ret_fd = -1;
	if (job_run(&job, a, e) == 0)
		return 0;
	if (call->ret_fd && *call->ret_fd >= 0) {
		close(*call->ret_fd);
		*call->ret_fd = -1;
	}
	return -1;
}
