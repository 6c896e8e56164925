/*
 * Replace the filters of events that report already.  The kernel lets a filter be set only once
 * (kernel/trace/trace_events_filter.c, ftrace_profile_set_filter()), so events with the new filters
 * are opened before the old events are closed: no event is missed.
 */
#include <config.h>

#include "os/perf-filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/perf-open.h"
#include "os/perf-priv.h"

/* The events that replace those of the sources, for each CPU. */
struct perf_filter_fresh {
	int *fd;
	uint64_t *id;
	size_t nr;
};

static void
fresh_release(struct perf_filter_fresh *f)
{
	for (size_t i = 0; f->fd && i < f->nr; i++)
		cleanup_fd(&f->fd[i]);
	free(f->fd);
	free(f->id);
}

static int
fresh_open(struct perf_filter_fresh *f, struct perf *p, struct err *e)
{
	const size_t nr = p->options.nr_sources;

	f->nr = p->rings.nr * nr;
	f->fd = malloc(f->nr * sizeof *f->fd);
	f->id = calloc(f->nr, sizeof *f->id);
	if (!f->fd || !f->id) {
		f->nr = 0;
		return err_set(e, ENOMEM, "cannot filter events");
	}
	for (size_t i = 0; i < f->nr; i++)
		f->fd[i] = -1;
	for (size_t i = 0; i < f->nr; i++)
		if (perf_open_source(
			    p, &p->options.source[i % nr], i / nr, &f->fd[i], &f->id[i], e) < 0)
			return -1;
	for (size_t i = 0; i < f->nr; i++)
		if (ioctl(f->fd[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return err_set(e, errno, "cannot filter events");
	return 0;
}

/* Put the new events into P, and the old ones into F. */
static void
exchange(struct perf *p, struct perf_filter_fresh *f)
{
	const size_t nr = p->options.nr_sources;

	for (size_t cpu = 0; cpu < p->rings.nr; cpu++) {
		uint64_t *id = p->id + cpu * 2 * nr;

		memcpy(id + nr, id, nr * sizeof *id);
		memcpy(id, f->id + cpu * nr, nr * sizeof *id);
		for (size_t i = 0; i < nr; i++) {
			int *fd = &p->fd[cpu * p->nr_events + 1 + i], was = *fd;

			*fd = f->fd[cpu * nr + i];
			f->fd[cpu * nr + i] = was;
		}
	}
	p->rings.has_replaced = true;
	p->rings.generation++;
}

int
perf_filter_again(struct perf *p, struct err *e)
{
	__attribute__((cleanup(fresh_release))) struct perf_filter_fresh f = { 0 };

	if (fresh_open(&f, p, e) < 0)
		return -1;
	exchange(p, &f);
	for (size_t i = 0; i < f.nr; i++) {
		ioctl(f.fd[i], PERF_EVENT_IOC_DISABLE, 0);
		perf_event_finish(p, f.fd[i], &p->options.source[i % p->options.nr_sources]);
	}
	return 0;
}
