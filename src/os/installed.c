#include <config.h>

#include "os/installed.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/child.h"

/* By memdiag's effective rights, with which it is opened: with capabilities they are others. */
static bool
installed_is_there(char *buf, size_t size, const char *root, const char *dir, const char *name)
{
	return (size_t)snprintf(buf, size, "%s%s/%s", root, dir, name) < size &&
		faccessat(AT_FDCWD, buf, R_OK, AT_EACCESS) == 0;
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
 * Search memdiag's directory, where it is if both were built there; then the places where files are
 * installed, which may still be below a DESTDIR.  If memdiag was moved, the file is still there.
 */
int
os_find_installed(char *buf, size_t size, const char *name, struct err *e)
{
	static const char *const places[] = { MD_PKGLIBDIR, MD_PKGLIBEXECDIR };
	char dir[PATH_MAX];

	if (os_own_path(dir, sizeof dir, e) < 0)
		return -1;
	*strrchr(dir, '/') = '\0';
	if (installed_is_there(buf, size, dir, "", name))
		return 0;
	if (!cut_end(dir, MD_BINDIR))
		*dir = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (installed_is_there(buf, size, dir, places[i], name) ||
			installed_is_there(buf, size, "", places[i], name))
			return 0;
	return err_set(e, 0,
		"cannot find %s: it is neither in memdiag's directory nor in " MD_PKGLIBDIR
		" or " MD_PKGLIBEXECDIR,
		name);
}
