/*
 * timeline-dhat: a timeline in the format of DHAT's viewer.
 */
#ifndef MEMDIAG_REPORT_TIMELINE_DHAT_H
#define MEMDIAG_REPORT_TIMELINE_DHAT_H

#include "base/err.h"
#include "profile/profile.h"
#include "recording/live.h"
#include "report/timeline.h"
#include "ui/ui.h"

/*
 * Write P, which history_profile() built from V's history with lives, and whose frames have names,
 * for DHAT's viewer: version 2 of its JSON, without reads and writes.
 */
int timeline_print_dhat(const struct timeline_view *v, const struct profile *p,
	struct ui_output *out, struct err *e);

#endif
