#include <config.h>

#include "ui/claim.h"

#include "os/claim.h"
#include "os/os.h"
#include "ui/output.h"

int
ui_claim(const struct target *t, const struct ui_options *opt, struct err *e)
{
	if (target_claim(t, 0, e) == 0)
		return 0;
	if (e->kind != ERR_NO_SAFE_POINT)
		return -1;
	ui_note(opt, "%s: waiting for it to finish", e->msg);
	/* Use only a part: the alarm of deadline_set() must not come first and hide the reason. */
	if (target_claim(t, opt->timeout_ns / 2, e) == 0)
		return 0;
	return e->kind == ERR_NO_SAFE_POINT ? err_hint(e, "Nothing was changed") : -1;
}
