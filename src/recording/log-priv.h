/*
 * Declarations that the files of the reader of logs share.  doc/internals/log.md has the format,
 * log-writer.h writes it.
 */
#ifndef MEMDIAG_RECORDING_LOG_PRIV_H
#define MEMDIAG_RECORDING_LOG_PRIV_H

#include "profile/hash.h"
#include "recording/log-format.h"
#include "recording/recording.h"
#include "recording/stream.h"
#include "wire/sites.h"

/* The head of a file. */
struct log_head {
	uint64_t pid, number, realtime_ns, opened_ns, ticks;
	char name[LOG_MAX_NAME_BYTES + 1];
};

struct log_node {
	uint64_t address;
	uint32_t number, parent;
	uint32_t text; /* of maps: the first that was read after the node */
};

/* The stacks of sites: of a file, or of all of them. */
struct log_names {
	struct {
		struct log_node *v; /* parents come first */
		size_t nr, room;
	} nodes;
	struct hash by_number;
	struct {
		uint32_t *v; /* the node of each site + 1; 0: the site is not known */
		size_t nr, room;
	} sites;
	struct {
		char **v; /* owned: what was mapped, the last one at the end */
		size_t nr, room;
	} texts;
};

/* The node NUMBER; NULL if there is none. */
const struct log_node *log_names_node(const struct log_names *n, uint32_t number);
/* 0, or -1 when there is no memory. */
int log_names_add_node(struct log_names *n, const struct log_node *node);
int log_names_add_site(struct log_names *n, uint32_t site, uint32_t node);
/*
 * Take over what FROM has and N has not.  1: done, 0: they contradict each other, -1: no memory.
 */
int log_names_merge(struct log_names *n, struct log_names *from);
void log_names_release(struct log_names *n);

/* ---- one file ---- */

struct log_part {
	struct recording r; /* first */
	const char *name;   /* for errors; stays */
	struct stream *stream;
	struct log_head head;
	uint64_t base_ticks; /* time 0 */
	uint64_t max_bytes;  /* of records: bytes behind were not there the first time */

	uint8_t *text; /* what comes next is from AT to END */
	size_t room, at, end;
	uint64_t text_at; /* where in the unpacked file TEXT begins */
	bool has_read_all;

	struct log_pairs pairs;
	uint64_t time_ns, last_address;
	uint64_t nr_events;
	bool has_begun;	   /* what was live is known */
	bool gave_time;	   /* the first event */
	bool is_at_moment; /* the last record was one: the round is whole */
	bool has_end;	   /* the record */
	bool is_last;	   /* by that: the log ends with it */
	bool is_followed;  /* its end is to come; mappings are not kept */
	bool has_stopped;
	uint64_t nr_bytes; /* of the records that were read */
	bool has_stamps;   /* the order of all threads' events is known but for: */
	uint64_t nr_unordered, unordered_bytes;
	uint64_t nr_dropped, dropped_bytes, nr_unmatched, unmatched_bytes;
	uint64_t live_blocks, live_bytes;     /* when the file begins */
	uint64_t live_mappings, mapped_bytes; /* then, too */
	struct log_names names;
};

/*
 * Read the head of S, which is taken over, called NAME.  The caller frees *RET by its ops.  0, or
 * -1 with E.
 */
int log_part_open(struct log_part **ret, struct stream *s, const char *name, struct err *e);
/* Read no further than MAX_BYTES, which the file had of whole records before. */
void log_part_limit(struct log_part *p, uint64_t max_bytes);

/* Read on where P, which is followed, has stopped: the file may have become longer. */
void log_part_resume(struct log_part *p);

/* ---- all files ---- */

struct log_file_at {
	char *path; /* owned; NULL: it is in memory */
	int fd;	    /* owned; -1: in memory */
	struct log_head head;
	uint64_t nr_bytes; /* of its records, as they were read first; 0: they were not */
	bool is_whole;	   /* it has its end */
	bool is_written;   /* a process had it locked to write it, before it was read */
};

/* Files of a log in a directory that follow each other up to its last one. */
struct log_files {
	struct log_file_at *v;
	size_t nr, room;
	size_t nr_older;   /* files of the log that do not continue up to these */
	size_t nr_others;  /* other logs in the directory */
	size_t nr_refused; /* files whose head could not be read, see E */
	struct err e;
};

/* Those of the log WHICH in the directory PATH, NULL: of the newest one.  0, or -1 with E. */
int log_files_find(
	struct log_files *f, const char *path, const struct recording_log *which, struct err *e);
void log_files_release(struct log_files *f);

struct log {
	struct recording r; /* first */
	struct log_files files;
	size_t first; /* of files, those before were dropped */
	bool lacks_stamps;
	uint64_t nr_unordered, unordered_bytes;
	const char *data;
	size_t data_bytes;
	bool is_known; /* all was read once */
	uint64_t nr_dropped, dropped_bytes, nr_unmatched, unmatched_bytes;
	struct log_names names;
	struct {
		struct log_mapping *v; /* of all texts */
		size_t nr, room;
	} mappings;
	struct {
		struct hash frames;  /* of the present profile */
		uint32_t *of_node_1; /* owned; of each node */
	} made;
};

/* R, if it is a log; else NULL. */
struct log *log_of(struct recording *r);
/* Whether a process has FD locked to write it. */
bool log_is_locked(int fd);
/* Add a comment: whose log it is, and when time 0 of it was, in local time. */
int log_say_begin(struct log *l, const struct log_head *h, struct err *e);
/* And how much was live before P, the first file. */
int log_say_before(struct log *l, const struct log_part *p, struct err *e);
/* Note what P knows to be missing in the log so far, and warn of it. */
void log_note_missing(struct log *l, const struct log_part *p);
void log_say_missing(struct log *l);

/* Members of struct recording_ops. */
int log_begin(struct recording *r, struct profile *p, struct err *e);
int log_sample(struct recording *r, uint32_t site, struct profile *p, struct profile_sample *ret,
	struct err *e);

/* A mapping of code, by a text of maps. */
struct log_mapping {
	uint64_t start, end, offset_bytes;
	const char *path, *build_id; /* in strings of facts; "": not known */
	uint32_t text;
	uint32_t made_1; /* of the present profile */
};

/*
 * Readers of the file FD, which is taken over, of the log WHICH in a directory (NULL: the newest),
 * or of LEN bytes at DATA.
 */
int log_open_file(struct recording **ret, int fd, const char *path, struct err *e);
int log_open_directory(
	struct recording **ret, const char *path, const struct recording_log *which, struct err *e);
int log_parse(
	struct recording **ret, const char *name, const char *data, size_t len, struct err *e);

#endif
