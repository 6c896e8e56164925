#include <config.h>

#include "agentctl/agent-file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/child.h"

#define NAME "libmemdiag-agent.so"

static bool
agent_file_is_there(char *buf, size_t size, const char *root, const char *dir)
{
	return (size_t)snprintf(buf, size, "%s%s/" NAME, root, dir) < size &&
		access(buf, R_OK) == 0;
}

/* Cut END off DIR; false if DIR does not end with it. */
static bool
cut_end(char *dir, const char *end)
{
	size_t n = strlen(dir), n_end = strlen(end);

	if (n < n_end || strcmp(dir + n - n_end, end) != 0)
		return false;
	dir[n - n_end] = '\0';
	return true;
}

/*
 * Search memdiag's directory, where it is if both were built there; then the place where it was
 * installed, which may still be below a DESTDIR.  If memdiag was moved, the agent is still there.
 */
int
agent_file_find(char *buf, size_t size, struct err *e)
{
	char dir[PATH_MAX];

	if (os_own_path(dir, sizeof dir, e) < 0)
		return -1;
	*strrchr(dir, '/') = '\0';
	if (agent_file_is_there(buf, size, dir, "") ||
		(cut_end(dir, MD_BINDIR) && agent_file_is_there(buf, size, dir, MD_PKGLIBDIR)) ||
		agent_file_is_there(buf, size, "", MD_PKGLIBDIR))
		return 0;
	return err_set(e, 0,
		"cannot find " NAME ": it is neither in memdiag's directory nor in " MD_PKGLIBDIR);
}
