/*
 * ui: what the commands share in talking to people and scripts: options, units, tables, JSON,
 * exit statuses.  stdout is data, stderr is talk.
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
#include "base/raddr.h"
#include "os/place.h"

struct target;

/* ---- exit statuses --------------------------------------------------------------------------- */

enum ui_exit {
	UI_DONE = 0,
	UI_FAILED = 1,
	UI_PARTIAL = 2, /* some of it is missing; why is on stderr and in "warnings" */
	UI_GONE = 3,	/* no such process, or it went away */
	UI_PERMISSION = 4,
	UI_UNSUPPORTED = 5,   /* memdiag cannot do this to this target */
	UI_NO_SAFE_POINT = 6, /* no safe point in time, nothing changed */
	UI_USAGE = 64,
	/* Statuses of `run`, as of env(1) and timeout(1) */
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

/* A process as it was asked for. */
struct ui_process {
	pid_t pid; /* 0: it was asked for by NAME */
	const char *name;
};

struct ui_processes {
	struct ui_process *v; /* each once */
	size_t nr, room;
};

struct ui_options {
	pid_t pid; /* 0 until ui_find_process() */
	struct ui_processes asked;
	bool takes_several; /* the command takes several processes: ui_several_argp */
	bool all_of_name;   /* --all: a name stands for all processes of that name */
	bool json;
	const char *output;	   /* -o FILE; NULL or "-" is stdout */
	bool force;		   /* -f: overwrite FILE */
	bool is_private;	   /* set by a command: only the owner may read FILE */
	bool bytes;		   /* -b: sizes as exact numbers of bytes */
	bool quiet;		   /* -q: no notes on stderr */
	int verbose;		   /* -v, more with more */
	uint64_t timeout_ns;	   /* --timeout, for the whole command; 30 s if not given */
	uint64_t files_timeout_ns; /* the same for what files take; 10 m if not given */
	uint64_t max_memory_bytes; /* --max-memory; 0: not given */
	bool pid_optional;	   /* set by a command that can do without */
};

/*
 * Set o->pid to the requested process, 0 without one, and free o->asked.  A name stands for the
 * only process of that name: ERR_GONE if none, ERR_USAGE if there are several, which are
 * listed on standard error. 0, or -1 with E.
 */
int ui_find_process(struct ui_options *o, struct err *e);

/*
 * The same for several processes: those in o->asked have their PIDs afterwards, each is there once,
 * and o->pid is the first.  The caller frees o->asked.v, whatever is returned.
 */
int ui_find_processes(struct ui_options *o, struct err *e);

/*
 * The argp child that parses them, and the .children of a command that has no other: pass a struct
 * ui_options, zeroed, as the child's input.  It takes a bare word as the process, checks that there
 * is one, and provides --help, -h and --debug.
 */
extern const struct argp ui_options_argp;
/* The same for a command that takes several processes, with --all; ui_is_several() says whether. */
extern const struct argp ui_several_argp;
extern const struct argp_child ui_several_children[];
bool ui_is_several(const struct ui_options *o);
extern const struct argp_child ui_options_children[];
/* The same for a command without a target: without --pid, --timeout and a bare word. */
extern const struct argp ui_output_argp;
/* The same for such a command that reads files: with --timeout.  See ui/limits.h. */
extern const struct argp ui_file_argp;
/* --max-memory, besides one of these. */
extern const struct argp ui_memory_argp;
/* The argument of an option of such a command that names a process; else argp exits. */
void ui_process_option(struct argp_state *state, struct ui_options *o, const char *arg);

/* Parse ARGV with ARGP, and add what argp itself cannot do (-h, help format). */
void ui_parse(const struct argp *argp, int argc, char **argv, void *input);

/* The same, with options and words in the order they stand in, and the order of ARGV kept. */
void ui_parse_in_order(const struct argp *argp, int argc, char **argv, void *input);

/*
 * The same for a command line that continues with the command line of another program: options are
 * searched for up to the first word that is no option.  Returns its index, ARGC if none.
 */
int ui_parse_until_word(const struct argp *argp, int argc, char **argv, void *input);

/* Refuse ARG, which is untrusted, as argp_error() does: "'ARG' WHY". */
void ui_refuse(struct argp_state *state, const char *arg, const char *why);

/* The index of ARG in NAMES, which end with NULL; else as ui_refuse(). */
int ui_word_option(
	struct argp_state *state, const char *arg, const char *const *names, const char *why);

/* The number ARG, which is not negative and fits into 31 bits; else as ui_refuse(). */
unsigned long ui_parse_count(struct argp_state *state, const char *arg);

/*
 * A size with an optional suffix, K M G T, as in "512K", "512KB" or "512KiB", which are all 1024
 * times 512, into *RET; false if TEXT is not one.  A duration with us, ms, s, m, h (seconds if
 * none) likewise, in nanoseconds.
 */
bool ui_parse_size(const char *text, uint64_t *ret_bytes);
bool ui_parse_duration(const char *text, uint64_t *ret_ns);

/* The same for an option's argument, which is refused if it has the wrong form. */
uint64_t ui_size_option(struct argp_state *state, const char *arg);
uint64_t ui_duration_option(struct argp_state *state, const char *arg);

/* ---- output ---------------------------------------------------------------------------------- */

/*
 * Make sure that descriptors 0, 1 and 2 are taken, before anything is opened: one that was closed
 * stays unwritable.  0, or -1 when /dev/null cannot be opened.
 */
int ui_keep_standard_files(void);

/*
 * The destination of the data.  With -o it is a temporary file in the directory of FILE that
 * ui_output_close() renames, so that FILE is never half written.
 */
struct ui_output {
	FILE *f;
	char *path;		      /* NULL for a standard stream */
	struct os_place place;	      /* of PATH */
	char temporary[NAME_MAX + 1]; /* in that directory; "" for a device or pipe */
	bool may_replace;	      /* -f */
	bool is_terminal;
	bool has_lines;	   /* set by a command: a document of JSON is one line */
	bool use_colour;   /* NO_COLOR, CLICOLOR_FORCE, TERM=dumb, not a terminal */
	int columns, rows; /* of the terminal, 0 without one */
};

#define UI_OUTPUT_NONE                                                                             \
	(struct ui_output)                                                                         \
	{                                                                                          \
		.place = {.dir_fd = -1, .held_fd = -1 }                                            \
	}

int ui_output_open(struct ui_output *o, const struct ui_options *opt, struct err *e);
/* The same for a command whose standard output is its program's: standard error without -o. */
int ui_output_open_beside(struct ui_output *o, const struct ui_options *opt, struct err *e);
/* Note how large the terminal is now, if O is one. */
void ui_output_measure(struct ui_output *o);
/*
 * Flush, check that all of it was written, as on a full disk, and rename. 0, also if the reader of
 * a pipe has gone, or -1 with E.
 */
int ui_output_close(struct ui_output *o, struct err *e);
/* The net below ui_output_close(): drops what was not closed, removes the temporary file. */
void ui_output_release(struct ui_output *o);
#define auto_output __attribute__((cleanup(ui_output_release)))

/* A note for the person, on stderr, "memdiag: ..."; nothing with -q. */
void ui_note(const struct ui_options *opt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * While work takes longer than a second, show on a terminal's standard error what is done (WHAT,
 * static: "reading the heap"), and for how long.  May return NULL. ui_progress_end() removes the
 * line.
 */
struct ui_progress;
struct ui_progress *ui_progress_begin(const struct ui_options *opt, const char *what);
void ui_progress_end(struct ui_progress *p);
static inline void
ui_progress_cleanup(struct ui_progress **p)
{
	ui_progress_end(*p);
}
#define auto_progress __attribute__((cleanup(ui_progress_cleanup)))
/* Remove the line, before something else is written there.  For signal handlers, too. */
void ui_progress_clear(void);

/*
 * Write TEXT and a newline to O, where LEAD columns of a line are filled already.  On a terminal it
 * is broken between words, and goes on under its beginning.
 */
void ui_wrap(const struct ui_output *o, int lead, const char *text);

/* A size as OPT wants it: "1.2 GiB", or with -b "1288490188".  Into BUF; returns BUF. */
const char *ui_size(const struct ui_options *opt, uint64_t bytes, char *buf, size_t size);
/* The same as an expression that needs no buffer; good until the end of the block. */
#define UI_SIZE(opt, bytes) ui_size((opt), (bytes), (char[32]){ 0 }, 32)
/* TEXT, behind a "~" if it IS_ROUGH; then UI_ROUGH_LEGEND belongs below.  Into BUF; returns BUF. */
const char *ui_mark(const char *text, bool is_rough, char *buf, size_t size);
#define UI_MARK(text, is_rough) ui_mark((text), (is_rough), (char[40]){ 0 }, 40)
#define UI_ROUGH_LEGEND                                                                            \
	"~ is approximate: a check failed, not all could be read, it changed meanwhile, or "       \
	"others have pages there.\n"
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
/*
 * As ui_table_cell(), marked as a guess if IS_GUESS; then UI_GUESS_LEGEND belongs below the table.
 */
int ui_table_cell_marked(struct ui_table *t, const char *text, bool is_guess, struct err *e);
#define UI_GUESS_LEGEND                                                                            \
	"? marks a guess: by the shape or place of a mapping, or pages spread over its parts.\n"
/* A cell that is "?" is not known; ui_table_print() says so. */
#define UI_UNKNOWN_LEGEND "A single ? stands for what is not known.\n"
/* A whole row: its cells, then NULL. */
int ui_table_add(struct ui_table *t, struct err *e, ...) __attribute__((sentinel));
int ui_table_print(struct ui_table *t, struct err *e);
/* Below a table that --lines has cut: that there are NR_MORE rows; nothing for 0. */
void ui_print_more(FILE *f, size_t nr_more);

/* A bar of SHARE (0..1) of WIDTH columns, into BUF; returns BUF. */
const char *ui_bar(double share, int width, char *buf, size_t size);

/* ---- JSON ------------------------------------------------------------------------------------ */

/*
 * The envelope every --json output has:
 * {"schema":"memdiag.NAME/1","memdiag":VERSION,"generated_at":...,"target":{...},"process":{...},
 *  "data":{},"verdicts":[],"warnings":[],"partial":false}.  T may be NULL.
 * NULL when there is no memory.
 * Sizes are integers named *_bytes, durations *_ns; addresses are "0x..." strings. doc/json.md
 * lists every member, and tests/live/json.sh compares the list with real output.
 */
json_t *ui_json_new(const char *name, const struct target *t);
/* Append a warning and, with IS_PARTIAL, set "partial". */
void ui_json_warn(json_t *document, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A name of untrusted bytes: made valid UTF-8 as text_escape() does. */
json_t *ui_json_string(const char *s);
/*
 * A sentence of our own, or text that is escaped already: made valid UTF-8 as text_printable()
 * does.
 */
json_t *ui_json_text(const char *s);
json_t *ui_json_address(raddr a);
/*
 * N, or where it is larger than JSON's integers are, their greatest: only memory that was written
 * over has such numbers.  ui_json_print() adds a warning then.
 */
json_t *ui_json_number(uint64_t n);
/*
 * As ui_json_print(), with the rows that NEXT(ARG) gives, one by one until it is NULL, in the empty
 * array KEY of "data": there may be too many to keep.
 */
int ui_json_print_with(json_t *document, const char *key, json_t *(*next)(void *arg), void *arg,
	struct ui_output *o, struct err *e);
/* Write DOCUMENT to O, members in the order they were set. */
int ui_json_print(json_t *document, struct ui_output *o, struct err *e);

#endif
