/*
 * info: what memdiag info finds out, between finding it out and printing it.
 */
#ifndef MEMDIAG_CMD_INFO_H
#define MEMDIAG_CMD_INFO_H

#include "cmd/malloc-target.h"
#include "cmd/warnings.h"
#include "heap/heap.h"
#include "verdict/verdict.h"

enum info_sort {
	INFO_BY_RESIDENT,
	INFO_BY_NR,
	INFO_BY_SYSTEM,
	INFO_BY_IN_USE,
	INFO_BY_FREE,
	INFO_BY_THREADS,
};

/* Where malloc's own account comes from. */
enum info_method {
	INFO_AUTO,
	INFO_INJECT,	/* malloc_info(), called in the process */
	INFO_READ,	/* the heap reader, which writes the same document */
};

struct info_options {
	struct ui_options ui;
	struct inject_options inject;
	long arena;		/* the only one wanted; -1: all of them */
	size_t max_rows;	/* 0: no limit */
	enum info_sort sort;
	bool xml;		/* the document as it is */
	enum info_method method;
	uint64_t max_lock_ns;	/* for AUTO; and the longest stop of READ */
};

/* What every resident byte is for.  The order is the order on the screen. */
enum account_kind {
	ACCOUNT_IN_USE,		/* in malloc's arenas and not known to be free */
	ACCOUNT_FREE,		/* in malloc's arenas and free, at least */
	ACCOUNT_MMAPPED,	/* blocks that malloc mapped one by one */
	ACCOUNT_STACKS,
	ACCOUNT_OTHER_ANON,
	ACCOUNT_FILES,
	ACCOUNT_SHM,
	ACCOUNT_KERNEL,
	ACCOUNT_UNACCOUNTED,	/* VmRSS minus all of the above; negative if it shrank meanwhile */
	NR_ACCOUNTS,
};

struct account {
	int64_t bytes[NR_ACCOUNTS];
	size_t nr_other;	/* pieces of memory in OTHER_ANON */
	int64_t unlocated_bytes;	/* of MMAPPED: malloc says that it has them, but where they
					 * are was not recognised */
};

/* A heap of the document and the arena in memory that it is about. */
struct info_arena {
	const struct malloc_info_heap *heap;
	const struct arena *arena;	/* of the space; NULL if it cannot be told */
	bool has_resident;
	uint64_t resident_bytes;
};

struct info {
	struct malloc_target mt;
	enum info_method method;	/* INJECT or READ */
	struct inject_report report;	/* of INJECT */
	struct heap heap;		/* of READ */
	unsigned int nr_stops;		/* of READ */
	uint64_t longest_stop_ns;
	struct text xml;
	struct malloc_info mi;
	struct space space;	/* read after the call */
	struct {
		struct info_arena *v;	/* in the document's order */
		size_t nr, room;
	} arena;
	struct account account;
	struct verdict verdict[VERDICT_MAX];
	size_t nr_verdicts;
	struct warnings warnings;
};

extern const char *const info_method_name[];
/* "stream" or "fd2". */
extern const char *const info_capture_name[];

/* info-ask.c: learn the process and get its malloc's account, xml.  0, or -1 with E. */
int info_ask(struct info *info, const struct info_options *opt, struct err *e);

/* info-account.c: from what was read to accounts, arenas and verdicts. 0, or -1 with E. */
int info_match_arenas(struct info *info, struct err *e);
void info_account(struct info *info);
void info_judge(struct info *info);

/* info-print.c */
int info_print_text(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e);
int info_print_json(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e);

#endif
