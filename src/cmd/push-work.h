/* push-work: `memdiag profile --push`: sends samples of a process to a server at an interval. */
#ifndef MEMDIAG_CMD_PUSH_WORK_H
#define MEMDIAG_CMD_PUSH_WORK_H

#include "agentdata/live-names.h"
#include "agentdata/sites.h"
#include "capture/capture.h"
#include "export/push.h"
#include "ui/option.h"

struct push_work_options {
	const char *url; /* NULL: nothing is pushed */
	enum push_format format;
	uint64_t every_ns;
	const char *name;	 /* of the application; NULL: that of the process */
	const char *tenant;	 /* X-Scope-OrgID; NULL: none */
	const char *header_file; /* NULL: none */
	struct {
		const char **v; /* "NAME=VALUE"; owned */
		size_t nr, room;
	} labels;
	bool has_labels, has_every, has_format;
};

/*
 * For the row of --push, whose value is the url of struct push_work_options: argp exits if ARG is
 * not one.
 */
void push_work_set_url(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg);

/* All other options; the input is a struct push_work_options. */
extern const struct ui_syntax push_work_syntax;

/* Zeroed at first. */
struct push_work {
	const struct push_work_options *opt;
	struct push *push; /* owned; NULL: nothing is pushed */
	struct live_names names;
	uint64_t next_ns; /* of the next profile; by os_now_ns() */
	bool has_failed;
};

/* Begin to push the profile of T, if OPT wants it.  Returns 0, or -1 with E. */
int push_work_begin(struct push_work *w, const struct push_work_options *opt,
	const struct target *t, struct err *e);
/*
 * Push the samples in FD of the process T, if the interval is over, and print what has failed.  A
 * failure ends nothing.
 */
void push_work_look(struct push_work *w, const struct target *t, int fd);
/*
 * Push C, the last samples of the process P, and wait up to 10 s for the server, or until memdiag
 * is asked to end again.  With HAS_ENDED, P has ended, and new frames get names from the files of
 * their paths.  Store the sums in RET.
 */
void push_work_end(struct push_work *w, const struct sites_copy *c, const struct process *p,
	bool has_ended, struct capture_pushes *ret);
void push_work_release(struct push_work *w);
#define auto_push_work __attribute__((cleanup(push_work_release)))

#endif
