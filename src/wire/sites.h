/*
 * sites: the call sites at which a process allocates, which the agent writes and memdiag reads.
 * They are in a mapping of the process, shared with all processes that have its file.  The mapping
 * is consistent at any moment, also after the process was killed.
 *
 *	+--------------------------------------+ 0
 *	| struct wire_sites: sizes, sums, and  |
 *	|   what found no room                 |
 *	+--------------------------------------+ nodes_at
 *	| nodes: the tree of stacks            |  a node is one frame; its parent is the frame that
 *	|                                      |  called it, and node 0 is the root
 *	+--------------------------------------+ buckets_at
 *	| buckets: (parent, address) -> node   |  0 is an empty bucket; only the agent reads them
 *	+--------------------------------------+ sites_at
 *	| sites: counters                      |  of the nodes that allocate
 *	+--------------------------------------+ maps_at
 *	| maps: mapped code, as text, twice    |  the agent writes one, then makes it the valid one
 *	+--------------------------------------+ seen_at
 *	| seen: objects that contain frames    |  as text; entries are only added (wire/maps.h)
 *	+--------------------------------------+ log_at, if a log exists
 *	| log: events in order                 |  wire/log.h
 *	+--------------------------------------+ size_bytes
 *
 * Nodes and sites are only added, never removed.  Two threads that add the same stack
 * simultaneously may give it two nodes, and so two sites: the numbers of the stack are their sums.
 * A reader copies the head, then the sites, then the nodes, so each copied site has its nodes.
 */
#ifndef MEMDIAG_WIRE_SITES_H
#define MEMDIAG_WIRE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_SITES_MAGIC UINT64_C(0x3573657469736d64) /* "dmsites5" */
#define WIRE_SITES_HEADER_BYTES 4096
/* The name of the file in memory that contains sites. */
#define WIRE_SITES_NAME "memdiag-sites"

/* Largest number of frames in a stack; outer frames beyond it are omitted. */
#define WIRE_MAX_FRAMES 256
/* Largest number of nodes if functions of an interpreter replace its frames. */
#define WIRE_MAX_CODES 1024
#define WIRE_MAX_PATH (WIRE_MAX_FRAMES + WIRE_MAX_CODES)

/* Fractions of a block, since a sampled block stands for others. */
#define WIRE_BLOCK_UNITS 1024

struct wire_node {
	uint64_t address; /* return address in the frame, or a label */
	uint32_t parent;
	uint32_t site; /* 0: no site */
};

/*
 * An address with one of these in its first byte is not a frame, but describes the nodes above it.
 */
#define WIRE_LABEL_SHIFT 56
enum wire_label {
	WIRE_LABEL_NONE,
	WIRE_LABEL_SIZE,   /* the size of the blocks is at most the value, see wire_size_class() */
	WIRE_LABEL_THREAD, /* the thread with that number allocated them */
	WIRE_LABEL_CUT,	   /* the stack is incomplete: the outermost frame's caller is unknown */
	/*
	 * A function of an interpreter.  Its name is copied, since its memory may have another name
	 * when a file is written.  "FILE\0FUNCTION" is a path of nodes from the root, seven bytes
	 * in each node, the first bytes at the top; the last node is filled with zeroes.  Below the
	 * path is a node with the line where the function begins, whose number is that of the
	 * function.  So a function keeps its number, and equal beginnings of names are stored once.
	 * Below that node is one for each line that ran, whose number is that of the function at
	 * this line.
	 */
	WIRE_LABEL_TEXT,
	WIRE_LABEL_LINE,
	WIRE_LABEL_CODE, /* a frame: the function, or the function at a line, with that number */
	/*
	 * The site has mappings, not blocks: the mappings that the program made itself, each of
	 * which is recorded.  Its units are mappings, WIRE_BLOCK_UNITS each; it has no peak and no
	 * temporary amount.
	 */
	WIRE_LABEL_MAPPED,
};
#define WIRE_TEXT_BYTES 7      /* bytes in a node */
#define WIRE_MAX_TEXT_NODES 64 /* nodes of a function's name */
#define WIRE_MAX_TEXT_BYTES (WIRE_MAX_TEXT_NODES * WIRE_TEXT_BYTES + 2)

/*
 * In an address of code, the byte below the label is the number of its object if other objects were
 * at this address before; 255 if unknown.  So objects that were loaded one after another have
 * different addresses.
 */
#define WIRE_OBJECT_SHIFT 48

static inline uint64_t
wire_frame(uint64_t address, uint32_t object)
{
	return address | (uint64_t)object << WIRE_OBJECT_SHIFT;
}

/* The address without the number of the object. */
static inline uint64_t
wire_address_of(uint64_t frame)
{
	return frame & ((UINT64_C(1) << WIRE_OBJECT_SHIFT) - 1);
}

static inline uint64_t
wire_label(enum wire_label label, uint64_t value)
{
	return (uint64_t)label << WIRE_LABEL_SHIFT | value;
}

static inline enum wire_label
wire_label_of(uint64_t address)
{
	return (enum wire_label)(address >> WIRE_LABEL_SHIFT);
}

static inline uint64_t
wire_label_value(uint64_t address)
{
	return address & ((UINT64_C(1) << WIRE_LABEL_SHIFT) - 1);
}

struct wire_amount {
	uint64_t units; /* blocks, WIRE_BLOCK_UNITS each */
	uint64_t bytes; /* as the program requested */
};

struct wire_site {
	uint32_t node; /* 0: unused */
	uint32_t lock;
	uint32_t epoch; /* the epoch of PEAK: see wire_site_peak() */
	/*
	 * In a record: the only thread that changes ALLOCATED and FREED, without a lock; 0: any
	 * thread.
	 */
	uint32_t owner;
	struct wire_amount allocated, freed; /* so far */
	struct wire_amount peak;	     /* amount that was live at the peak of all sites */
	/* freed by the allocating thread before it had allocated much more */
	struct wire_amount temporary;
	uint64_t nr_allocated, nr_freed;    /* samples in the amounts above; unused in a record */
	struct wire_amount freed_elsewhere; /* by threads other than the owner, besides FREED */
	uint64_t unused[2];
};

/*
 * The first site is for blocks that find no room for a node or a site; its node is the root.  The
 * second site is for such mappings.
 */
#define WIRE_SITE_OF_NONE 1
#define WIRE_SITE_OF_NO_MAPPING 2

/* Space for the executable mappings of files in /proc/PID/maps; further ones are omitted. */
#define WIRE_MAPS_BYTES (UINT32_C(1) << 18)
/* Space for the objects that contain frames. */
#define WIRE_SEEN_BYTES (UINT32_C(1) << 17)

/* ---- triggers: events for which a file is written ---- */

/*
 * Triggers are checked when a sample is recorded, so never before the estimate changes.  Each of
 * them has a bit in struct wire_triggers.
 */
enum wire_trigger {
	WIRE_TRIGGER_INTERVAL,	 /* a certain amount was allocated */
	WIRE_TRIGGER_HIGH_WATER, /* more is live than ever */
	WIRE_TRIGGER_ABOVE,	 /* more is live than a threshold */
	WIRE_NR_TRIGGERS,
};

/* A call that requests at least threshold_bytes. */
struct wire_large {
	uint64_t bytes;
	uint32_t node; /* its stack; 0 or UINT32_MAX: unknown */
	uint32_t tid;
	uint32_t number; /* from 1 on; the index is its remainder, else it is incomplete */
	uint32_t unused;
};
#define WIRE_NR_LARGE 64

struct wire_triggers {
	/* The amounts of the triggers; 0: not requested. */
	uint64_t interval_bytes, above_bytes, threshold_bytes;
	uint32_t high_water;
	/* The agent sets bits, 1 << enum wire_trigger; the writer of the files clears them. */
	uint32_t asked;
	uint32_t is_above;
	uint32_t nr_large;	 /* so far; the last WIRE_NR_LARGE of them are in LARGE */
	uint64_t next_bytes;	 /* allocated bytes at which the next interval ends */
	int64_t next_high_bytes; /* live bytes above which the next high water begins */
	struct wire_large large[WIRE_NR_LARGE];
};

/*
 * A new high water exceeds the last one by this part of it, and by at least this number of bytes:
 * otherwise a growing program would write files continuously.
 */
#define WIRE_HIGH_PART 10
#define WIRE_HIGH_LEAST_BYTES (INT64_C(1) << 20)

/* The kind of a capture: a profile is sampled, a record is exact. */
enum wire_capture {
	WIRE_PROFILE,
	WIRE_RECORD,
};

/* The kind of capture of a request or of sites with PERIOD_BYTES, which is 0 for a record. */
static inline enum wire_capture
wire_capture_of(uint64_t period_bytes)
{
	return period_bytes ? WIRE_PROFILE : WIRE_RECORD;
}

struct wire_sites {
	uint64_t magic;
	uint32_t header_bytes, node_bytes, site_bytes;
	uint32_t max_nodes, nr_buckets, max_sites; /* nr_buckets is a power of two */
	uint64_t nodes_at, buckets_at, sites_at, maps_at, size_bytes;
	uint32_t pid;
	uint32_t nr_dumps;	     /* files that memdiag has written from it */
	uint64_t started_ns;	     /* CLOCK_REALTIME */
	uint64_t period_bytes;	     /* average distance of samples; wire_capture_of() */
	uint32_t nr_nodes, nr_sites; /* in use; may exceed the maximum when it is full */
	int64_t live_bytes;	     /* of all sites */
	int64_t peak_bytes;	     /* the peak of live_bytes */
	uint32_t epoch;		     /* number of peaks so far */
	uint32_t nr_cut;	     /* stacks without their outer frames */
	uint64_t nr_samples, nr_freed;
	/*
	 * Samples that could not be recorded, and the bytes that they stand for: in a signal
	 * handler that allocates while its thread records a sample, or without memory.
	 */
	uint64_t nr_lost, lost_bytes;
	/*
	 * Sampled blocks that count as live forever: no memory was available to record their
	 * address, or a signal handler freed them while its thread was recording an event.
	 */
	uint64_t nr_forgotten, nr_missed;
	uint64_t allocated_bytes; /* of all sites; unused in a record */
	/* In a record: blocks from before the record that were freed or resized. */
	struct wire_amount before;
	/* Mappings that the program made itself, which the sums above do not include. */
	int64_t mapped_bytes, mapped_peak_bytes; /* in use, and its peak */
	int64_t nr_mappings;			 /* in use */
	/* so far; and calls that were not recorded: in a signal handler, or without room */
	uint64_t nr_mapped, nr_mappings_lost;
	char name[16];		/* of the program, as in /proc/PID/comm; untrusted */
	uint32_t nr_leaving;	/* calls of exec that have not failed: it runs another program */
	uint32_t maps_now;	/* index of the valid text: 0 or 1 */
	uint32_t maps_bytes[2]; /* their lengths; 0: empty */
	uint64_t seen_at;
	uint32_t seen_bytes; /* length of seen */
	uint32_t nr_unseen;  /* objects beyond the limit: frames in them have no name */
	struct wire_triggers triggers;
	/* In a record: live in addition to live_bytes, added by a thread while it was alone. */
	int64_t alone_bytes;
	uint64_t log_at; /* wire/log.h, within size_bytes; 0: no log */
	/*
	 * In a record: several threads ran, each of which holds back some of its additions to a
	 * sum.
	 */
	uint32_t has_rough_peak;
	/*
	 * In a record: blocks that were not recorded, since no room was left for their addresses.
	 */
	struct wire_amount no_room;
};

static inline struct wire_node *
wire_nodes(const struct wire_sites *s)
{
	return (struct wire_node *)((uintptr_t)s + s->nodes_at);
}

static inline uint32_t *
wire_buckets(const struct wire_sites *s)
{
	return (uint32_t *)((uintptr_t)s + s->buckets_at);
}

static inline struct wire_site *
wire_site(const struct wire_sites *s, uint32_t i)
{
	return (struct wire_site *)((uintptr_t)s + s->sites_at) + i;
}

static inline char *
wire_maps(const struct wire_sites *s, uint32_t which)
{
	return (char *)((uintptr_t)s + s->maps_at + (which & 1) * WIRE_MAPS_BYTES);
}

static inline char *
wire_seen(const struct wire_sites *s)
{
	return (char *)((uintptr_t)s + s->seen_at);
}

/* The requested sizes: at most WIRE_SITES_MAX_NODES and WIRE_SITES_MAX_SITES. */
#define WIRE_SITES_MAX_NODES (UINT32_C(1) << 22)
#define WIRE_SITES_MAX_SITES (UINT32_C(1) << 20)
struct wire_sites_size {
	uint32_t max_nodes, max_sites;
	uint32_t nr_log_blocks; /* at most WIRE_LOG_MAX_BLOCKS; 0: no log */
};

/*
 * Initialise the head of empty sites in S, whose memory is zero.  Returns the total size; with S
 * NULL only that.
 */
uint64_t wire_sites_make(struct wire_sites *s, const struct wire_sites_size *size);

/* True if this memdiag supports the head S of sites with SIZE bytes. */
bool wire_sites_is_valid(const struct wire_sites *s, uint64_t size);

/*
 * The live amount of SITE.  It is never negative, although its counters may change while they are
 * copied.
 */
struct wire_amount wire_site_live(const struct wire_site *site);

/*
 * The live amount of SITE at the peak of all sites together.  A site saves its amount of that
 * moment before it changes; a site that has not changed since still has it.
 */
struct wire_amount wire_site_peak(const struct wire_sites *s, const struct wire_site *site);

/* The number of blocks, rounded; at least one if A has any bytes. */
uint64_t wire_objects(struct wire_amount a);

/* ---- the sites of all programs of one run ---- */

#define WIRE_PROFILES_MAGIC UINT64_C(0x31666f7270676d64) /* "dmgprof1" */
#define WIRE_PROFILES_NAME "memdiag-profiles"
#define WIRE_PROFILES_HEADER_BYTES 4096
#define WIRE_MAX_PROFILES 16384

/*
 * A file in memory, most of which is never used.  Each program that starts takes the next slot, and
 * a process that executes another program takes another slot.  So the file keeps the sites of all
 * programs, however they ended.
 */
struct wire_profiles {
	uint64_t magic;
	uint64_t slot_bytes; /* from WIRE_PROFILES_HEADER_BYTES on, one slot after another */
	struct wire_sites_size size; /* size of each slot */
	uint32_t max_slots;
	uint32_t nr_taken; /* slots requested so far; may exceed the number of slots */
};

static inline uint64_t
wire_profile_offset(const struct wire_profiles *p, uint32_t slot)
{
	return WIRE_PROFILES_HEADER_BYTES + (uint64_t)slot * p->slot_bytes;
}

/* The largest size in the class of SIZE: each power of two has four classes. */
uint64_t wire_size_class(uint64_t size);

#endif
