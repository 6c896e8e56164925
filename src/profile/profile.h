/*
 * profile: profiles of memory, that is which stacks of calls allocated how much.  This is the
 * model; read.h and write.h have the formats of files, symbols.h the names.
 *
 * A profile is filled in this order: types, then frames, stacks, threads and samples as they come,
 * mappings at any time, and profile_find_mappings() at the end.
 */
#ifndef MEMDIAG_PROFILE_PROFILE_H
#define MEMDIAG_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* More kinds of values than any profile has that we know. */
#define PROFILE_MAX_TYPES 32
/* No stack is deeper; what is further out is dropped. */
#define PROFILE_MAX_DEPTH 65536

/* The type of a value: "inuse_space" in "bytes", "alloc_objects" as "count" ... */
struct profile_type {
	const char *name, *unit;
};

enum profile_offset {
	PROFILE_OFFSET_IN_FILE,
	PROFILE_OFFSET_IS_ADDRESS, /* the ELF file's address of START; symbols_find() replaces it */
	PROFILE_OFFSET_UNKNOWN,	   /* no name can be looked up in the file */
};

/* A part of the address space that an executable file is mapped in. */
struct profile_mapping {
	uint64_t start, end, offset_bytes;
	const char *path;     /* "" if it has no file */
	const char *build_id; /* lower case hex, "" if unknown */
	enum profile_offset offset_kind;
};

struct profile_function {
	const char *name; /* demangled */
	const char *file; /* of its source, "" if unknown */
};

struct profile_line {
	uint32_t function;
	uint32_t line; /* 0 if unknown */
};

/* A place in the code. */
struct profile_frame {
	/*
	 * A return address, which is behind the call; with IS_EXACT the address of the instruction
	 * itself (a frame below a signal handler, or of a pprof file).
	 */
	uint64_t address;
	bool is_exact;
	uint16_t nr_lines;   /* of functions inlined into each other; 0: it has no name */
	uint32_t mapping_1;  /* its number + 1; 0: in none */
	uint32_t first_line; /* the innermost function comes first */
};

/* Frames, the leaf first. */
struct profile_stack {
	size_t first; /* in stack_frames */
	uint32_t nr;
};

struct profile_thread {
	int64_t tid;	  /* 0 if unknown */
	const char *name; /* "" if unknown */
};

struct profile_sample {
	uint32_t stack;
	uint32_t thread_1;   /* its number + 1; 0: unknown, or of several */
	uint64_t size_bytes; /* the largest of their class; 0: unknown, or of several */
};

/* Everything is owned by the profile, strings too. */
struct profile {
	struct {
		struct profile_type *v;
		size_t nr, room;
	} types;
	size_t default_type; /* the one to show first */
	struct {
		struct profile_mapping *v;
		size_t nr, room;
	} mappings;
	struct {
		struct profile_function *v;
		size_t nr, room;
	} functions;
	struct {
		struct profile_line *v;
		size_t nr, room;
	} lines;
	struct {
		struct profile_frame *v;
		size_t nr, room;
	} frames;
	struct {
		uint32_t *v;
		size_t nr, room;
	} stack_frames;
	struct {
		struct profile_stack *v;
		size_t nr, room;
	} stacks;
	struct {
		struct profile_thread *v;
		size_t nr, room;
	} threads;
	struct {
		struct profile_sample *v;
		size_t nr, room;
	} samples;
	/*
	 * types.nr for each sample: estimates of what the process has, never raw counts of samples.
	 */
	struct {
		int64_t *v;
		size_t nr, room;
	} values;
	struct {
		const char **v;
		size_t nr, room;
	} comments;
	struct {
		const char **v; /* what its reader has to say to people */
		size_t nr, room;
	} warnings;
	bool is_partial;      /* its file was cut off */
	int64_t period_bytes; /* mean distance of samples; 0: unknown, 1: everything was recorded */
	int64_t pid;	      /* 0 if unknown */
	uint64_t time_ns;     /* since 1970; 0 if unknown */
	const char *format;   /* of its file, for people; NULL if it was not read from one */
	struct profile_index *index;
};

/* NULL when there is no memory. */
struct profile *profile_new(void);
void profile_free(struct profile *p);
static inline void
profile_cleanup(struct profile **p)
{
	profile_free(*p);
}
#define auto_profile __attribute__((cleanup(profile_cleanup)))

/* All of these copy the strings they are given, and fail (-1, with E) only for lack of memory. */

/*
 * LEN bytes at S up to a NUL as a string of P's; equal ones are one.  NULL when there is no memory.
 */
const char *profile_string(struct profile *p, const char *s, size_t len);
/* Only before the first sample.  More than PROFILE_MAX_TYPES are refused. */
int profile_add_type(struct profile *p, const char *name, const char *unit, struct err *e);
/*
 * "inuse_objects", "inuse_space", "alloc_objects", "alloc_space": the usual types, in pprof's
 * order.
 */
int profile_add_usual_types(struct profile *p, struct err *e);
int profile_add_mapping(struct profile *p, uint64_t start, uint64_t end, uint64_t offset_bytes,
	const char *path, const char *build_id, struct err *e);
/* The frame at ADDRESS, a new one if there was none. */
int profile_frame(struct profile *p, uint64_t address, bool is_exact, uint32_t *ret, struct err *e);
/*
 * A frame of its own, which profile_frame() does not find.  MAPPING_1 as in struct profile_frame.
 */
int profile_add_frame(struct profile *p, uint64_t address, bool is_exact, uint32_t mapping_1,
	uint32_t *ret, struct err *e);
/* Add a function to what FRAME is, inside out; all of a frame before those of the next one. */
int profile_add_line(struct profile *p, uint32_t frame, const char *name, const char *file,
	uint32_t line, struct err *e);
/* The stack of the NR FRAMES, the leaf first. */
int profile_stack(
	struct profile *p, const uint32_t *frames, size_t nr, uint32_t *ret, struct err *e);
/* The thread TID called NAME, as thread_1 of a sample. */
int profile_thread(
	struct profile *p, int64_t tid, const char *name, uint32_t *ret_thread_1, struct err *e);
/* VALUES has one for each type. */
int profile_add_sample(
	struct profile *p, struct profile_sample sample, const int64_t *values, struct err *e);
int profile_comment(struct profile *p, const char *text, struct err *e);
/* Something to be said to people; with IS_PARTIAL, that a part of the profile is missing. */
void profile_warn(struct profile *p, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Find the mapping of each frame that has none yet. */
void profile_find_mappings(struct profile *p);
/* The address of the instruction that FRAME is about: in the call, not behind it. */
static inline uint64_t
profile_frame_pc(const struct profile_frame *frame)
{
	return frame->address - (frame->is_exact || !frame->address ? 0 : 1);
}
/* The number of the type called NAME, -1 if none. */
int profile_find_type(const struct profile *p, const char *name);
/* Whether values of the type are bytes. */
bool profile_is_bytes(const struct profile_type *type);
/* The sum of two values, or the greatest or least number: only a damaged file has such values. */
static inline int64_t
profile_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? -INT64_MAX : INT64_MAX) : sum;
}
/* The values of a sample. */
static inline const int64_t *
profile_values(const struct profile *p, size_t sample)
{
	return &p->values.v[sample * p->types.nr];
}
/*
 * Add the samples of OTHER, of another process or program, whose types P has; its addresses are its
 * own.
 */
int profile_append(struct profile *p, const struct profile *other, struct err *e);
/*
 * Subtract BASE: its samples are added with negative values of the types that both have.  P must
 * have the type called MUST, and so must BASE.
 */
int profile_subtract(
	struct profile *p, const struct profile *base, const char *must, struct err *e);

#endif
