#include <config.h>

#include "cmd/from-file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/stranger.h"
#include "profile/foreign.h"

int
from_file_read(struct from_file *f, const char *path, struct err *e)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	auto_fd int fd = is_stdin ? dup(STDIN_FILENO) : os_open(path, OS_REGULAR | OS_PIPE, e);

	text_printable(is_stdin ? "standard input" : path, f->name, sizeof f->name);
	if (fd < 0)
		return is_stdin ? err_set(e, errno, "cannot read standard input") : -1;
	if (os_read_whole(&f->text, fd, f->name, e) < 0)
		return -1;
	if (!f->text.len)
		return err_set(e, 0, "cannot read %s: it is empty", f->name);
	f->kind = foreign_find(f->text.v, f->text.len);
	return 0;
}

int
from_file_explain(const struct from_file *f, struct err *e)
{
	if (f->kind)
		return err_set(e, 0, "cannot read %s: it is %s", f->name, f->kind);
	e->kind = ERR_FAILED;
	return -1;
}

void
from_file_release(struct from_file *f)
{
	text_release(&f->text);
}
