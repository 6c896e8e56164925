#include <config.h>

#include "capture/log-place.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "agentdata/agent-segment.h"
#include "base/text.h"
#include "capture/log-record.h"
#include "glibc/process.h"
#include "os/os.h"

static int
log_place_refuse(const struct target *t, const char *what, struct err *e)
{
	err_set_kind(e, ERR_UNSUPPORTED, 0, "%d (%s) %s", (int)t->pid, t->comm, what);
	return err_hint(
		e, "'memdiag record start -p %d --mode log-fast -o DIR' begins one", (int)t->pid);
}

/* Check that the directory can be read. */
static int
check_directory(const struct log_state *l, const struct target *t, struct err *e)
{
	const struct wire_log_writer *w = &l->said;
	char shown[sizeof w->dir + 1];

	if (access(w->dir, R_OK | X_OK) == 0)
		return 0;
	err_set(e, errno, "cannot read '%s', where process %" PRIu32 " %s the log of %d (%s)",
		text_printable(w->dir, shown, sizeof shown), w->pid,
		l->is_written ? "writes" : "wrote", (int)t->pid, t->comm);
	if (e->code == ENOENT)
		err_hint(e, "It was removed, or that process sees other directories than memdiag");
	return -1;
}

int
log_place_find(struct log_state *ret, const struct target *t, struct err *e)
{
	auto_process struct process p = { .target = t };
	auto_agent_segment struct agent_segment agent = { 0 };

	if (process_read(&p, t, e) < 0 || agent_segment_read(&agent, &p, e) < 0)
		return -1;
	if (!agent.sites_at.v || agent.is_parents)
		return log_place_refuse(t, "has not been recorded, so it has no log", e);
	log_record_look(t, agent.sites_at, ret);
	if (!ret->is_there)
		return log_place_refuse(t,
			"has no log: its record is in memory, or what was noted last is a profile",
			e);
	if (ret->said.realtime_ns)
		return check_directory(ret, t, e);
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"another version of memdiag writes the log of %d (%s): name its directory",
		(int)t->pid, t->comm);
}
