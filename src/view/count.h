/* count: the output of 'memdiag count'. */
#ifndef MEMDIAG_VIEW_COUNT_H
#define MEMDIAG_VIEW_COUNT_H

#include "agentctl/count-job.h"
#include "os/os.h"
#include "ui/ui.h"

/*
 * Print C, the result of count_job_start() in T, or with IS_STOP of count_job_stop(): as text,
 * whose write errors ui_output_close() reports, or as JSON.  JSON returns 0, or -1 with E.
 */
void count_show_text(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct count_job *c, bool is_stop);
int count_show_json(struct ui_output *out, const struct target *t, const struct count_job *c,
	bool is_stop, struct err *e);

#endif
