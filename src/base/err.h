/*
 * err: a failure, as a message for people and a code for the caller.  No allocation, no owner: it
 * is on a caller's stack, and a message is deliberately cut at 511 bytes.
 */
#ifndef MEMDIAG_BASE_ERR_H
#define MEMDIAG_BASE_ERR_H

/*
 * The kind of failure.  The command line turns these into exit statuses (ui/exit.h), so one kind
 * has one remedy.
 */
enum err_kind {
	ERR_FAILED = 1,	   /* any other failure */
	ERR_GONE,	   /* no such process, or it ended or exec'ed meanwhile */
	ERR_PERMISSION,	   /* no permission to read or trace it */
	ERR_UNSUPPORTED,   /* memdiag cannot do this to this target */
	ERR_NO_SAFE_POINT, /* no safe moment in time; the target is unchanged */
	ERR_USAGE,	   /* the command line asks for something impossible */
	/*
	 * Errors of `run` before its program runs; afterwards `run` returns the program's status.
	 */
	ERR_NOT_RUN,
	ERR_NOT_EXECUTABLE, /* the program exists, but cannot be run */
	ERR_NOT_FOUND,	    /* the program does not exist */
};

struct err {
	int code;	    /* errno value; 0 without an error, or if no errno value fits */
	enum err_kind kind; /* 0 without an error */
	char msg[512];	    /* one or more sentences, no newline at the end */
};

/*
 * Fill E and return -1, so that a failing function can end in "return err_set(...)".  CODE is an
 * errno value or 0; its text is appended (": No such file or directory").  err_set() derives the
 * kind from CODE: ESRCH is ERR_GONE, EPERM and EACCES are ERR_PERMISSION.  Both replace the
 * previous contents of E, and E must not be one of the arguments.
 */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_set_kind(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Put "FMT: " before the present message.  Returns -1. */
int err_context(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append a sentence with a remedy.  Returns -1. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
