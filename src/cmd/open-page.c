#include <config.h>

#include "cmd/open-page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/ceiling.h"
#include "os/child.h"

/* Become the program that opens files, in a child. */
static int
open_page_become(void *arg, struct err *e)
{
	const struct open_page *p = arg;

	/* A browser does not keep the limits that memdiag has set for itself. */
	os_lift_ceiling();
	os_die_as_before();
	execlp("xdg-open", "xdg-open", p->path, (char *)NULL);
	if (errno == ENOENT)
		return err_set(
			e, 0, "'xdg-open' is not installed; open '%s' in a browser", p->path);
	return err_set(e, errno, "cannot run 'xdg-open'");
}

/* Return the directory for temporary files. */
static const char *
temporary_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory == '/' ? directory : "/tmp";
}

int
open_page_begin(struct open_page *p, struct err *e)
{
	auto_free char *directory = NULL;

	if (asprintf(&directory, "%s/memdiag-XXXXXX", temporary_directory()) < 0) {
		directory = NULL;
		return err_set(e, ENOMEM, "cannot write the page");
	}
	if (!mkdtemp(directory))
		return err_set(
			e, errno, "cannot create a directory in '%s'", temporary_directory());
	if (asprintf(&p->path, "%s/report.html", directory) < 0) {
		p->path = NULL;
		rmdir(directory);
		return err_set(e, ENOMEM, "cannot write the page");
	}
	return 0;
}

int
open_page_show(struct open_page *p, struct err *e)
{
	struct os_end end;

	p->is_shown = true;
	if (os_run_child(open_page_become, p, &end, e) < 0)
		return -1;
	return end.status ? err_set(e, 0, "'xdg-open' failed; open '%s' in a browser", p->path) : 0;
}

void
open_page_release(struct open_page *p)
{
	char *slash = p->path ? strrchr(p->path, '/') : NULL;

	if (slash && !p->is_shown) {
		unlink(p->path);
		*slash = '\0';
		rmdir(p->path);
	}
	free(p->path);
	*p = (struct open_page){ 0 };
}
