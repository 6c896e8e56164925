#include <config.h>

#include "ui/output.h"

#include "base/cleanup.h"
#include "ui/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <libsmartcols.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
ui_keep_standard_files(void)
{
	int fd;

	/*
	 * Open /dev/null read-only, even for output: writes to a closed stdout must fail, and its
	 * number must not be reused by the next opened file, which may be the target's memory.  A
	 * program that memdiag starts finds it closed again.
	 */
	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static bool
output_is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* NO_COLOR overrides CLICOLOR_FORCE, and both override the kind of the stream (no-color.org). */
static bool
want_colour(bool is_terminal)
{
	const char *term = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

	if (output_is_set("NO_COLOR"))
		return false;
	if (force && *force && strcmp(force, "0") != 0)
		return true;
	return is_terminal && term && strcmp(term, "dumb") != 0;
}

void
ui_output_measure(struct ui_output *o)
{
	/* libsmartcols asks the terminal, then COLUMNS and LINES. */
	struct libscols_table *table = o->is_terminal ? scols_new_table() : NULL;

	if (!o->is_terminal)
		return;
	o->columns = table ? (int)scols_table_get_termwidth(table) : 80;
	o->rows = table ? (int)scols_table_get_termheight(table) : 24;
	scols_unref_table(table);
}

/*
 * Open an existing device, pipe or file that is open as a descriptor, which is written to directly.
 */
static int
open_existing(struct ui_output *o, struct err *e)
{
	const int fd = os_place_open(&o->place);

	if (fd < 0 || (S_ISREG(o->place.mode) && ftruncate(fd, 0) < 0) ||
		!(o->f = fdopen(fd, "w"))) {
		err_set(e, errno, "cannot write '%s'", o->path);
		cleanup_fd(&fd);
		return -1;
	}
	return 0;
}

static int
output_open_file(struct ui_output *o, const struct ui_options *opt, struct err *e)
{
	int fd;

	o->path = strdup(opt->output);
	if (!o->path)
		return err_set(e, errno, "cannot write '%s'", opt->output);
	if (os_place_find(&o->place, opt->output, e) < 0)
		return -1;
	if (o->place.mode && !S_ISREG(o->place.mode))
		return open_existing(o, e);
	if (o->place.mode && !opt->force)
		return err_set(e, EEXIST, "will not overwrite '%s' without --force", o->path);
	if (o->place.is_open_file)
		return open_existing(o, e);
	o->may_replace = opt->force;
	fd = os_place_create(&o->place, opt->is_private ? 0600 : 0666, o->temporary);
	if (fd < 0) {
		*o->temporary = '\0';
		return err_set(e, errno, "cannot create a file next to '%s'", o->path);
	}
	o->f = fdopen(fd, "w");
	if (!o->f) {
		close(fd);
		return err_set(e, ENOMEM, "cannot write '%s'", o->path);
	}
	return 0;
}

/* Open the output: STREAM unless OPT names a file. */
static int
output_open_output(struct ui_output *o, const struct ui_options *opt, FILE *stream, struct err *e)
{
	*o = UI_OUTPUT_NONE;
	if (opt->output && strcmp(opt->output, "-") != 0) {
		if (output_open_file(o, opt, e) < 0) {
			ui_output_release(o);
			return -1;
		}
	} else {
		o->f = stream;
	}
	o->is_terminal = isatty(fileno(o->f));
	o->use_colour = want_colour(o->is_terminal);
	ui_output_measure(o);
	return 0;
}

int
ui_output_open(struct ui_output *o, const struct ui_options *opt, struct err *e)
{
	return output_open_output(o, opt, stdout, e);
}

int
ui_output_open_beside(struct ui_output *o, const struct ui_options *opt, struct err *e)
{
	return output_open_output(o, opt, stderr, e);
}

/* Rename the temporary file.  An existing file is replaced only on request. */
static int
move_into_place(struct ui_output *o, struct err *e)
{
	if (os_place_move(&o->place, o->temporary, o->may_replace) < 0)
		return err_set(e, errno, "cannot rename '%s' to '%s'", o->temporary, o->path);
	*o->temporary = '\0';
	return 0;
}

/* True if F is a pipe or socket without a reader, as after "| head". */
static bool
has_no_reader(FILE *f)
{
	struct pollfd p = { .fd = fileno(f) };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}

/*
 * Return the errno of an earlier failed write to F, which was lost, by writing again; 0 if that
 * succeeds.  The output is incomplete anyway, so additional data does not matter.
 */
static int
reason_of_failure(FILE *f)
{
	clearerr(f);
	errno = 0;
	return fputc('\n', f) == EOF || fflush(f) ? errno : 0;
}

int
ui_output_publish(struct ui_output *o, struct err *e)
{
	return *o->temporary ? move_into_place(o, e) : 0;
}

int
ui_output_close(struct ui_output *o, struct err *e)
{
	const char *name = o->path ? o->path
		: o->f == stdout   ? "standard output"
				   : "standard error";
	bool had_error = ferror(o->f);
	FILE *f = o->f;
	int reason = had_error ? reason_of_failure(f) : 0;

	o->f = NULL;
	errno = 0;
	if ((o->path ? fclose(f) : fflush(f)) || had_error)
		return !o->path && has_no_reader(f)
			? 0
			: err_set(e, errno ? errno : reason, "cannot write to %s", name);
	return ui_output_publish(o, e);
}

void
ui_output_release(struct ui_output *o)
{
	if (o->f && o->path)
		fclose(o->f);
	if (*o->temporary)
		os_place_remove(&o->place, o->temporary);
	if (o->path)
		os_place_release(&o->place);
	free(o->path);
	*o = UI_OUTPUT_NONE;
}

void
ui_note(const struct ui_options *opt, const char *fmt, ...)
{
	va_list ap;

	if (opt->quiet)
		return;
	ui_progress_clear();
	fputs("memdiag: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void
ui_wrap(const struct ui_output *o, int lead, const char *text)
{
	int column = lead;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (column > lead) {
			bool fits = !o->columns || column + 1 + word <= o->columns;

			fprintf(o->f, "%s%*s", fits ? " " : "\n", fits ? 0 : lead, "");
			column = fits ? column + 1 : lead;
		}
		fwrite(text, 1, (size_t)word, o->f);
		column += word;
		text += word + strspn(text + word, " ");
	}
	fputc('\n', o->f);
}
