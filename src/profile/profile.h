/*
 * profile: memory profiles: which stacks of calls allocated how much.  This is the model; read.h
 * and write.h have the file formats, symbols.h the names.
 *
 * A profile is filled in this order: types, then frames, stacks, threads and samples in any order,
 * mappings at any time, and profile_find_mappings() at the end.
 */
#ifndef MEMDIAG_PROFILE_PROFILE_H
#define MEMDIAG_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* More types of values than any known profile has. */
#define PROFILE_MAX_TYPES 32
/* Deeper stacks are cut: the outermost frames are dropped. */
#define PROFILE_MAX_DEPTH 65536

/* Type of a value: "inuse_space" in "bytes", "alloc_objects" as "count" ... */
struct profile_type {
	const char *name, *unit;
};

enum profile_offset {
	PROFILE_OFFSET_IN_FILE,
	PROFILE_OFFSET_IS_ADDRESS, /* START's address in the ELF file; symbols_find() replaces it */
	PROFILE_OFFSET_UNKNOWN,	   /* names cannot be looked up in the file */
};

/* A part of the address space to which an executable file is mapped. */
struct profile_mapping {
	uint64_t start, end, offset_bytes;
	const char *path;     /* "" without a file */
	const char *build_id; /* lower case hex; "" if unknown */
	enum profile_offset offset_kind;
};

struct profile_function {
	const char *name; /* demangled */
	const char *file; /* its source; "" if unknown */
};

struct profile_line {
	uint32_t function;
	uint32_t line; /* 0 if unknown */
};

/* A place in code. */
struct profile_frame {
	/*
	 * A return address, which follows the call; with IS_EXACT the address of the instruction
	 * itself (a frame below a signal handler, or of a pprof file).
	 */
	uint64_t address;
	bool is_exact;
	uint16_t nr_lines;   /* of functions inlined into each other; 0 without a name */
	uint32_t mapping_1;  /* number of its mapping + 1; 0 without one */
	uint32_t first_line; /* that of the innermost function */
};

/* Frames, beginning with the leaf. */
struct profile_stack {
	size_t first; /* number in stack_frames */
	uint32_t nr;
};

struct profile_thread {
	int64_t tid;	  /* 0 if unknown */
	const char *name; /* "" if unknown */
};

struct profile_sample {
	uint32_t stack;
	uint32_t thread_1;   /* number of its thread + 1; 0 if unknown, or from several */
	uint64_t size_bytes; /* the largest of its size class; 0 if unknown, or from several */
};

/* The profile owns all of it, including strings. */
struct profile {
	struct {
		struct profile_type *v;
		size_t nr, room;
	} types;
	size_t default_type; /* number of the type to show first */
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
	/* types.nr for each sample: estimates for the process, never raw counts of samples. */
	struct {
		int64_t *v;
		size_t nr, room;
	} values;
	struct {
		const char **v;
		size_t nr, room;
	} comments;
	struct {
		const char **v; /* messages of the reader for the user */
		size_t nr, room;
	} warnings;
	bool is_partial;      /* the file was cut off */
	int64_t period_bytes; /* mean distance of samples; 0 if unknown, 1 if all were recorded */
	int64_t pid;	      /* 0 if unknown */
	uint64_t time_ns;     /* since 1970; 0 if unknown */
	const char *format;   /* of its file, for the user; NULL if not read from a file */
	struct profile_index *index;
};

/* Return an empty profile; NULL if memory runs out. */
struct profile *profile_new(void);
void profile_free(struct profile *p);
static inline void
profile_cleanup(struct profile **p)
{
	profile_free(*p);
}
#define auto_profile __attribute__((cleanup(profile_cleanup)))

/* The following functions copy their strings, and fail (-1, with E) only if memory runs out. */

/*
 * Return LEN bytes at S, up to a NUL, as a string of P; equal strings are one.  NULL if memory runs
 * out.
 */
const char *profile_string(struct profile *p, const char *s, size_t len);
/* Add a type, before the first sample.  Fails for more than PROFILE_MAX_TYPES. */
int profile_add_type(struct profile *p, const char *name, const char *unit, struct err *e);
/*
 * Add "alloc_objects", "alloc_space", "inuse_objects", "inuse_space": the usual types, in pprof's
 * order.
 */
int profile_add_usual_types(struct profile *p, struct err *e);
int profile_add_mapping(struct profile *p, uint64_t start, uint64_t end, uint64_t offset_bytes,
	const char *path, const char *build_id, struct err *e);
/* Find or add the frame at ADDRESS. */
int profile_frame(struct profile *p, uint64_t address, bool is_exact, uint32_t *ret, struct err *e);
/*
 * Add a separate frame, which profile_frame() does not find.  MAPPING_1 as in struct profile_frame.
 */
int profile_add_frame(struct profile *p, uint64_t address, bool is_exact, uint32_t mapping_1,
	uint32_t *ret, struct err *e);
/* Add a function to FRAME, inside out; add all of a frame before those of the next one. */
int profile_add_line(struct profile *p, uint32_t frame, const char *name, const char *file,
	uint32_t line, struct err *e);
/* Find or add the stack of the NR FRAMES, the leaf first. */
int profile_stack(
	struct profile *p, const uint32_t *frames, size_t nr, uint32_t *ret, struct err *e);
/* Find or add the thread TID called NAME, as thread_1 of a sample. */
int profile_thread(
	struct profile *p, int64_t tid, const char *name, uint32_t *ret_thread_1, struct err *e);
/* Add a sample; VALUES has one value for each type. */
int profile_add_sample(
	struct profile *p, struct profile_sample sample, const int64_t *values, struct err *e);
int profile_comment(struct profile *p, const char *text, struct err *e);
/* Add a warning for the user; with IS_PARTIAL, a part of the profile is missing. */
void profile_warn(struct profile *p, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Find the mapping of each frame without one. */
void profile_find_mappings(struct profile *p);
/* Return the address of FRAME's instruction: in the call, not after it. */
static inline uint64_t
profile_frame_pc(const struct profile_frame *frame)
{
	return frame->address - (frame->is_exact || !frame->address ? 0 : 1);
}
/* Return the number of the type called NAME, -1 if it does not exist. */
int profile_find_type(const struct profile *p, const char *name);
/* Return whether values of the type are bytes. */
bool profile_is_bytes(const struct profile_type *type);
/*
 * Return the sum of two values, or on overflow the greatest or least number: only a damaged file
 * has such values.
 */
static inline int64_t
profile_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? -INT64_MAX : INT64_MAX) : sum;
}
/* Return the values of a sample. */
static inline const int64_t *
profile_values(const struct profile *p, size_t sample)
{
	return &p->values.v[sample * p->types.nr];
}
/*
 * Add the samples of OTHER, of another process or program, whose types P has; its addresses stay
 * separate.
 */
int profile_append(struct profile *p, const struct profile *other, struct err *e);
/*
 * Subtract BASE: its samples are added with negative values of the types that both have.  P and
 * BASE must have the type called MUST.
 */
int profile_subtract(
	struct profile *p, const struct profile *base, const char *must, struct err *e);

#endif
