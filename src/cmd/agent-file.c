#include <config.h>

#include "cmd/agent-file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

#define NAME "libmemdiag-agent.so"

static bool
is_there(char *buf, size_t size, const char *root, const char *dir)
{
	return (size_t)snprintf(buf, size, "%s%s/" NAME, root, dir) < size && access(buf, R_OK) == 0;
}

/* Cut END off DIR; false if that is not how it ends. */
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
 * Beside memdiag where both were built.  Else where it was installed, which may be below a DESTDIR
 * still; a memdiag that was taken elsewhere has left it there.
 */
int
agent_file_find(char *buf, size_t size, struct err *e)
{
	char dir[PATH_MAX];

	if (os_own_path(dir, sizeof dir, e) < 0)
		return -1;
	*strrchr(dir, '/') = '\0';
	if (is_there(buf, size, dir, "") ||
		(cut_end(dir, MD_BINDIR) && is_there(buf, size, dir, MD_PKGLIBDIR)) ||
		is_there(buf, size, "", MD_PKGLIBDIR))
		return 0;
	return err_set(e, 0, "there is no " NAME " beside memdiag, nor in " MD_PKGLIBDIR);
}
