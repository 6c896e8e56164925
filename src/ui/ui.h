/*
 * ui: what the commands share in talking to people and scripts: options, units, tables, JSON,
 * exit statuses.  stdout is data, stderr is talk.
 * May use: verdict/ and the rooms below it.
 */
#ifndef MEMDIAG_UI_UI_H
#define MEMDIAG_UI_UI_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/os.h"

/* ---- exit statuses --------------------------------------------------------------------------- */

enum ui_exit {
	UI_DONE = 0,
	UI_FAILED = 1,
	UI_PARTIAL = 2,		/* some of it is missing; why is on stderr and in "warnings" */
	UI_GONE = 3,		/* no such process, or it went away */
	UI_PERMISSION = 4,
	UI_UNSUPPORTED = 5,	/* memdiag cannot do this to this target */
	UI_NO_SAFE_POINT = 6,	/* no safe point in time, nothing changed */
	UI_USAGE = 64,
	/* Of `run`, as of env(1) and timeout(1) */
	UI_NOT_RUN = 125,
	UI_NOT_EXECUTABLE = 126,
	UI_NOT_FOUND = 127,
};

enum ui_exit ui_exit_of(const struct err *e);

/* The last paragraph of every command's --help. */
#define UI_EXIT_STATUS_HELP                                                                        \
	"Exit status: 0 done, 1 failed, 2 partial, 3 no such process, 4 not permitted, 5 target "  \
	"not supported, 6 no safe moment and nothing was changed, 64 usage."

/* ---- options that every command takes -------------------------------------------------------- */

struct ui_options {
	pid_t pid;
	bool json;
	const char *output;	/* -o FILE; NULL or "-" is stdout */
	bool force;		/* -f: overwrite FILE */
	bool bytes;		/* -b: sizes as exact numbers of bytes */
	bool quiet;		/* -q: no notes on stderr */
	int verbose;		/* -v, more with more */
	uint64_t timeout_ns;	/* --timeout, for the whole command; 30 s if not given */
	bool pid_optional;	/* set by a command that can do without */
};

/*
 * The argp child that parses them, and the .children of a command that has no other: pass a struct
 * ui_options, zeroed, as the child's input.  It takes one bare number as the PID, checks that there is
 * one, and provides --help, -h and --debug.
 */
extern const struct argp ui_options_argp;
extern const struct argp_child ui_options_children[];
/* The same for a command that looks at no process: without --pid, --timeout and a bare number. */
extern const struct argp_child ui_output_children[];

/* Parse ARGV with ARGP; what argp itself cannot be told (-h, help format) is done here. */
void ui_parse(const struct argp *argp, int argc, char **argv, void *input);

/*
 * The same for a command line that goes on with one of somebody else's: options are looked for up to
 * the first word that is none.  Returns its index, ARGC if there is none.
 */
int ui_parse_until_word(const struct argp *argp, int argc, char **argv, void *input);

/* Refuse ARG, a stranger's, as argp_error() does: "'ARG' WHY". */
void ui_refuse(struct argp_state *state, const char *arg, const char *why);

/* The number ARG, which is not negative and fits into 31 bits; else as ui_refuse(). */
unsigned long ui_parse_count(struct argp_state *state, const char *arg);

/*
 * A size with an optional suffix K M G T (1024) as in "512K" into *RET; false if TEXT is not one.
 * A duration with ms, s, m (seconds if none) likewise, in nanoseconds.
 */
bool ui_parse_size(const char *text, uint64_t *ret_bytes);
bool ui_parse_duration(const char *text, uint64_t *ret_ns);

/* ---- output ---------------------------------------------------------------------------------- */

/*
 * Make sure that descriptors 0, 1 and 2 are taken, before anything is opened: one that was closed
 * stays unwritable.  0, or -1 when /dev/null cannot be opened.
 */
int ui_keep_standard_files(void);

/*
 * Where the data goes.  With -o it is a temporary file beside FILE that ui_output_close() renames,
 * so that FILE is never half written.
 */
struct ui_output {
	FILE *f;
	char *path, *temporary;	/* NULL for a standard stream; no temporary for a device or pipe */
	bool may_replace;	/* -f */
	bool is_terminal;
	bool use_colour;	/* NO_COLOR, CLICOLOR_FORCE, TERM=dumb, not a terminal */
	int columns;		/* of the terminal, 0 if there is none */
};

int ui_output_open(struct ui_output *o, const struct ui_options *opt, struct err *e);
/* The same for a command whose standard output is its program's: standard error without -o. */
int ui_output_open_beside(struct ui_output *o, const struct ui_options *opt, struct err *e);
/* Flush, check that all of it was written (a full disk, a closed pipe), rename.  0 or -1 with E. */
int ui_output_close(struct ui_output *o, struct err *e);
/* The net below ui_output_close(): drops what was not closed, removes the temporary file. */
void ui_output_release(struct ui_output *o);
#define auto_output __attribute__((cleanup(ui_output_release)))

/* A note for the person, on stderr, "memdiag: ..."; nothing with -q. */
void ui_note(const struct ui_options *opt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Write TEXT and a newline to O, where LEAD columns of a line are filled already.  On a terminal it
 * is broken between words, and goes on under its beginning.
 */
void ui_wrap(const struct ui_output *o, int lead, const char *text);

struct verdict;

/* The weightiest three of V, or that there is nothing to do. */
void ui_print_verdicts(const struct ui_output *o, const struct verdict *v, size_t nr);

/* A size as OPT wants it: "1.2 GiB", or with -b "1288490188".  Into BUF; returns BUF. */
const char *ui_size(const struct ui_options *opt, uint64_t bytes, char *buf, size_t size);
/* The same as an expression that needs no buffer; good until the end of the block. */
#define UI_SIZE(opt, bytes) ui_size((opt), (bytes), (char[32]){ 0 }, 32)
/* A difference with its sign: "+1.2 GiB", "-3.0 KiB", "0". */
const char *ui_size_change(const struct ui_options *opt, int64_t bytes, char *buf, size_t size);
/* A duration: "850 us", "12.3 ms", "1.2 s". */
const char *ui_duration(uint64_t ns, char *buf, size_t size);

/* ---- tables ---------------------------------------------------------------------------------- */

/* A plain table: columns are declared, then rows are filled cell by cell, left to right. */
struct ui_table;

struct ui_table *ui_table_new(const struct ui_output *o);
void ui_table_free(struct ui_table *t);
static inline void
ui_table_cleanup(struct ui_table **t)
{
	ui_table_free(*t);
}
#define auto_table __attribute__((cleanup(ui_table_cleanup)))

/* Add a column; numbers go right.  The last text column may be cut on a terminal. */
int ui_table_column(struct ui_table *t, const char *name, bool is_right, struct err *e);
/* Begin a row; then call ui_table_cell() for each column.  Text is made printable. */
int ui_table_row(struct ui_table *t, struct err *e);
int ui_table_cell(struct ui_table *t, const char *text, struct err *e);
/* A whole row: its cells, then NULL. */
int ui_table_add(struct ui_table *t, struct err *e, ...) __attribute__((sentinel));
int ui_table_print(struct ui_table *t, struct err *e);

/* A bar of SHARE (0..1) of WIDTH columns, into BUF; returns BUF. */
const char *ui_bar(double share, int width, char *buf, size_t size);

/* ---- JSON ------------------------------------------------------------------------------------ */

/*
 * The envelope every --json output has:
 * {"schema":"memdiag.NAME/1","memdiag":VERSION,"generated_at":...,"target":{...},"data":{},
 *  "verdicts":[],"warnings":[],"partial":false}.  T may be NULL.  NULL when there is no memory.
 * Sizes are integers named *_bytes; addresses are "0x..." strings.
 */
json_t *ui_json_new(const char *name, const struct target *t);
/* Append a warning and, with IS_PARTIAL, set "partial". */
void ui_json_warn(json_t *document, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* All of V, for "verdicts". */
json_t *ui_json_verdicts(const struct verdict *v, size_t nr);
/* A string whose bytes come from a stranger: made valid UTF-8 as text_printable() does. */
json_t *ui_json_string(const char *s);
json_t *ui_json_address(raddr a);
/*
 * N, or where it is larger than JSON's integers are, their greatest: only memory that was written
 * over has such numbers.  ui_json_print() adds a warning then.
 */
json_t *ui_json_number(uint64_t n);
/* Write DOCUMENT to O, members in the order they were set. */
int ui_json_print(json_t *document, struct ui_output *o, struct err *e);

#endif
