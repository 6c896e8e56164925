#include <config.h>

#include "ui/begin.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "ui/output.h"

/*
 * True if the executable gives memdiag privileges that its user lacks.  With them any user could
 * read and change every process, so memdiag must never have them.
 */
static bool
has_rights_of_file(void)
{
	return getauxval(AT_SECURE) && getuid() != 0;
}

enum ui_exit
ui_begin(void)
{
	if (has_rights_of_file()) {
		fputs("memdiag: refuses to run setuid, setgid or with capabilities of its file: "
		      "whoever may start it could read and change every process. Take these rights "
		      "from the file, and use sudo\n",
			stderr);
		return UI_PERMISSION;
	}
	/*
	 * memdiag's few threads share one arena: creating one for each takes longer than their
	 * work.
	 */
	mallopt(M_ARENA_MAX, 1);
	return ui_keep_standard_files() < 0 ? UI_FAILED : UI_DONE;
}
