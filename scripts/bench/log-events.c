/*
 * Write a log of the events of a recording, repeated until there are enough (0: once): how much CPU
 * time the writer takes for each, and how many bytes.  Stacks are made up, ten calls deep.
 *
 *	log-events DIR EVENTS RECORDING FILE-BYTES
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "recording/log-writer.h"
#include "recording/recording-open.h"

#define BATCH 4096
#define DEPTH 10

static int
give_site(void *context, uint32_t site, struct wire_site *ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = (struct wire_site){ .node = site * DEPTH + DEPTH };
	return 0;
}

static int
give_node(void *context, uint32_t node, struct wire_node *ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = (struct wire_node){ .address = 0x400000 + 37 * (uint64_t)node,
		.parent = node % DEPTH == 1 ? 0 : node - 1 };
	return 0;
}

static int
give_maps(void *context, const char **ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = "00400000-40000000 r-xp 00000000 08:01 1 /nowhere/it\n";
	return 0;
}

static void
must(int failed, const struct err *e)
{
	if (failed)
		fprintf(stderr, "%s\n", e->msg), exit(1);
}

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A recording that is read again and again; its times go on. */
struct source {
	struct recording *r;
	uint64_t base_ns, last_ns;
	uint64_t nr_times; /* that it has been read */
};

/* Up to BATCH events of S into V; it begins again at its end. */
static size_t
take(struct source *s, struct event *v)
{
	static struct event from[BATCH];
	struct err e;
	size_t nr, nr_events = 0;

	must(s->r->ops->next(s->r, from, BATCH, &nr, &e), &e);
	if (!nr) {
		must(s->r->ops->rewind(s->r, &e), &e);
		s->base_ns = s->last_ns;
		s->nr_times++;
	}
	for (size_t i = 0; i < nr; i++) {
		s->last_ns = s->base_ns + from[i].time_ns;
		if (from[i].kind > EVENT_FREED_SOON)
			continue;
		v[nr_events] = from[i];
		v[nr_events++].time_ns = s->last_ns;
	}
	return nr_events;
}

int
main(int argc, char **argv)
{
	static struct event v[BATCH];
	const struct log_namer names = { NULL, give_site, give_node, give_maps };
	struct log_settings s = { .name = "it",
		.pid = 1,
		.realtime_ns = UINT64_C(1763883901000000000),
		.max_files = 1000 };
	struct source source = { 0 };
	struct log_writer *w;
	struct log_written sum;
	struct err e;
	uint64_t wanted, nr = 0;
	double took = 0, from;

	if (argc != 5)
		return 64;
	s.dir = argv[1];
	wanted = strtoull(argv[2], NULL, 10);
	s.max_file_bytes = strtoull(argv[4], NULL, 10);
	must(recording_open(&source.r, argv[3], &e) <= 0, &e);
	must(log_writer_open(&w, &s, &names, &e), &e);
	while (nr < wanted || (!wanted && !source.nr_times)) {
		const size_t got = take(&source, v);

		from = cpu_seconds();
		must(log_writer_add(w, v, got, &e), &e);
		/* A round of 50 ms is some 500,000 events of a busy process. */
		if (nr / 500000 != (nr + got) / 500000)
			must(log_writer_flush(
				     w, &(struct log_moment){ .time_ns = source.last_ns }, &e),
				&e);
		took += cpu_seconds() - from;
		nr += got;
	}
	sum = log_writer_sum(w);
	printf("%llu events, %.1f ns of CPU for each, %.2f bytes for each, on the disk %.3f, %u "
	       "files\n",
		(unsigned long long)sum.nr_events, took / (double)nr * 1e9,
		(double)sum.raw_bytes / (double)nr, (double)sum.file_bytes / (double)nr,
		(unsigned int)sum.nr_files);
	must(log_writer_close(w, &e), &e);
	recording_free(source.r);
	return 0;
}
