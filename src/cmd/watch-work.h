/*
 * watch-work: a process, or a saved file of its samples, watched: one sample after another.
 */
#ifndef MEMDIAG_CMD_WATCH_WORK_H
#define MEMDIAG_CMD_WATCH_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ui/ui.h"
#include "watch/history.h"
#include "watch/page.h"
#include "watch/read.h"
#include "watch/tape.h"

/* Bounds of the time between samples. */
#define WATCH_LEAST_NS UINT64_C(50000000)
#define WATCH_MOST_NS UINT64_C(3600000000000)

struct watch_options {
	struct ui_options ui;
	uint64_t interval_ns;
	uint64_t max_samples;	   /* 0: until the process ends */
	bool is_batch;		   /* no terminal */
	const char *save, *replay; /* names of files, or NULL */
	enum watch_view view;
	enum watch_order order;
	uint64_t max_stop_ns; /* for the table of the free heap; 0: nothing is stopped */
};

struct watch_work {
	const struct watch_options *o;
	uint64_t interval_ns; /* the present one */
	struct watch_history history;
	struct watch_page page;
	struct watch_reader reader; /* without a tape */
	struct watch_tape tape;	    /* of --replay */
	size_t next;		    /* sample of it */
	struct ui_output save;	    /* of --save */
	bool has_ended;		    /* the process, or the tape */
};

/* Open the process or the file that O names, and the file to save to.  0, or -1 with E. */
int watch_work_open(struct watch_work *w, const struct watch_options *o, struct err *e);

/*
 * Add the next sample to the history, and save it.  0, also if W->has_ended is set instead, or -1
 * with E.
 */
int watch_work_step(struct watch_work *w, struct err *e);

/*
 * Return when the next sample is due after one that was read from BEGAN_NS to ENDED_NS, by
 * os_now_ns(), not before ENDED_NS: after the interval, or later if reading took long, so that it
 * takes a fifth of a processor at most.
 */
uint64_t watch_work_due_ns(const struct watch_work *w, uint64_t began_ns, uint64_t ended_ns);

/* Make sample NR of the tape, at most its last one, the present one.  0, or -1 with E. */
int watch_work_seek(struct watch_work *w, size_t nr, struct err *e);

void watch_work_close(struct watch_work *w);
#define auto_watch_work __attribute__((cleanup(watch_work_close)))

#endif
