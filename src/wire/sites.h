/*
 * sites: where a process allocates, as the agent notes it and memdiag reads it: a mapping of the
 * process, shared with whoever has its file.  It is whole at any moment, also when the process has
 * been killed.
 *
 *	+--------------------------------------+ 0
 *	| struct wire_sites: how large it is,  |
 *	|   sums, what found no room           |
 *	+--------------------------------------+ nodes_at
 *	| nodes: the tree of stacks            |  a node is one frame; its parent is the frame that
 *	|                                      |  called it, and node 0 is above all of them
 *	+--------------------------------------+ buckets_at
 *	| buckets: (parent, address) -> node   |  0 is an empty bucket; the agent alone looks there
 *	+--------------------------------------+ sites_at
 *	| sites: counters                      |  of the nodes that allocate
 *	+--------------------------------------+ maps_at
 *	| maps: what is mapped, as text, twice |  the agent writes one, and then says that it is it
 *	+--------------------------------------+ seen_at
 *	| seen: objects that frames are in     |  as text; only ever added to (wire/maps.h)
 *	+--------------------------------------+ log_at, if there is a log
 *	| log: one event after the other       |  wire/log.h
 *	+--------------------------------------+ size_bytes
 *
 * Nodes and sites are only ever added.  Two threads that add the same stack at the same moment may
 * give it two nodes, and so two sites: the stack has what both have together.  A reader copies the
 * head, then the sites, then the nodes: so each site that it has seen has its nodes.
 */
#ifndef MEMDIAG_WIRE_SITES_H
#define MEMDIAG_WIRE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_SITES_MAGIC UINT64_C(0x3573657469736d64) /* "dmsites5" */
#define WIRE_SITES_HEADER_BYTES 4096
/* The name of a file in memory that has them. */
#define WIRE_SITES_NAME "memdiag-sites"

/* Frames of a stack; what calls the outermost of them is cut off. */
#define WIRE_MAX_FRAMES 256
/* And with functions of an interpreter in place of its own. */
#define WIRE_MAX_CODES 1024
#define WIRE_MAX_PATH (WIRE_MAX_FRAMES + WIRE_MAX_CODES)

/* Blocks are counted in parts, for a sampled block stands for others. */
#define WIRE_BLOCK_UNITS 1024

struct wire_node {
	uint64_t address; /* of the frame, behind the call; or a label */
	uint32_t parent;
	uint32_t site; /* 0: none */
};

/* An address with one of these in its first byte is no frame, but says more of those above it. */
#define WIRE_LABEL_SHIFT 56
enum wire_label {
	WIRE_LABEL_NONE,
	WIRE_LABEL_SIZE,   /* the blocks are no larger than the value, see wire_size_class() */
	WIRE_LABEL_THREAD, /* the thread with that number allocated them */
	WIRE_LABEL_CUT,	   /* the frames are not all: whoever called the outermost is not known */
	/*
	 * A function of an interpreter.  Its name is copied, as its memory may have another one by
	 * the time that a file is written: "FILE\0FUNCTION" is a path of nodes from the root,
	 * seven bytes in each, the first one on top; zeroes fill the last.  Below it is one with
	 * the line where the function begins, whose number is that of the function.  So it has one
	 * number for good, and what its name begins with is there once.  Below that there is one
	 * with each line that ran, whose number is that of the function there.
	 */
	WIRE_LABEL_TEXT,
	WIRE_LABEL_LINE,
	WIRE_LABEL_CODE, /* a frame, of the function, or the function at a line, with that number */
	/*
	 * The site has mappings, not blocks: what the program mapped itself, each one noted.  Its
	 * units are mappings, WIRE_BLOCK_UNITS each; it has no peak and nothing temporary.
	 */
	WIRE_LABEL_MAPPED,
};
#define WIRE_TEXT_BYTES 7      /* of a node */
#define WIRE_MAX_TEXT_NODES 64 /* of a function's name */
#define WIRE_MAX_TEXT_BYTES (WIRE_MAX_TEXT_NODES * WIRE_TEXT_BYTES + 2)

/*
 * The byte below the label of an address of code is the number of the object that it is in, if
 * others were at this address before; 255 if that is not known.  So the addresses of objects that
 * were loaded one after the other are different ones.
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
	uint64_t bytes; /* as requested */
};

struct wire_site {
	uint32_t node; /* 0: it is not used */
	uint32_t lock;
	uint32_t epoch; /* of which PEAK is: see wire_site_peak() */
	/* In a record: the thread that alone changes ALLOCATED and FREED, unlocked; 0: any. */
	uint32_t owner;
	struct wire_amount allocated, freed; /* so far */
	struct wire_amount peak;	     /* what was live when most was, of all sites */
	/* freed by the thread that allocated them, before that had allocated much more */
	struct wire_amount temporary;
	uint64_t nr_allocated, nr_freed; /* samples that the above are made of; not of a record */
	struct wire_amount freed_elsewhere; /* besides FREED, by threads other than the owner */
	uint64_t unused[2];
};

/*
 * The first site takes what finds no room for a node or a site of its own; its node is the root.
 * The second does so for mappings.
 */
#define WIRE_SITE_OF_NONE 1
#define WIRE_SITE_OF_NO_MAPPING 2

/* The executable mappings of files in /proc/PID/maps; more are left out. */
#define WIRE_MAPS_BYTES (UINT32_C(1) << 18)
/* The objects that frames are in. */
#define WIRE_SEEN_BYTES (UINT32_C(1) << 17)

/* ---- what a file is to be written for ---- */

/*
 * They are seen when a sample is noted, so never sooner than the estimate changes.  Each has a bit
 * in struct wire_triggers.
 */
enum wire_trigger {
	WIRE_TRIGGER_INTERVAL,	 /* so much more was allocated */
	WIRE_TRIGGER_HIGH_WATER, /* more is live than ever */
	WIRE_TRIGGER_ABOVE,	 /* more is live than that */
	WIRE_NR_TRIGGERS,
};

/* A call for at least threshold_bytes. */
struct wire_large {
	uint64_t bytes;
	uint32_t node; /* its stack; 0 or UINT32_MAX: not known */
	uint32_t tid;
	uint32_t number; /* from 1 on, and at its remainder in the array; else it is not whole */
	uint32_t unused;
};
#define WIRE_NR_LARGE 64

struct wire_triggers {
	/* The amounts asked for; 0: not asked for. */
	uint64_t interval_bytes, above_bytes, threshold_bytes;
	uint32_t high_water;
	/* The agent sets bits, 1 << enum wire_trigger; the writer of the files clears them. */
	uint32_t asked;
	uint32_t is_above;
	uint32_t nr_large;	 /* so far; the last WIRE_NR_LARGE of them are in LARGE */
	uint64_t next_bytes;	 /* allocated, by which the next interval ends */
	int64_t next_high_bytes; /* live, above which it is a new high water */
	struct wire_large large[WIRE_NR_LARGE];
};

/*
 * A new high water is this part of the last one more, and this much at least: else a program that
 * grows would write files all the time.
 */
#define WIRE_HIGH_PART 10
#define WIRE_HIGH_LEAST_BYTES (INT64_C(1) << 20)

/* How blocks are captured: a profile is sampled, a record is exact. */
enum wire_capture {
	WIRE_PROFILE,
	WIRE_RECORD,
};

/* A record has no period: where that is part of a request or of sites, it is 0. */
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
	uint32_t nr_dumps;     /* files that memdiag has written of it */
	uint64_t started_ns;   /* CLOCK_REALTIME */
	uint64_t period_bytes; /* one sample for so many bytes on average; wire_capture_of() */
	uint32_t nr_nodes, nr_sites; /* used; may be more than there are, when it is full */
	int64_t live_bytes;	     /* of all sites */
	int64_t peak_bytes;	     /* the most that it has been */
	uint32_t epoch;		     /* how often it was more than ever */
	uint32_t nr_cut;	     /* stacks of which outer frames are missing */
	uint64_t nr_samples, nr_freed;
	/*
	 * Samples that could not be noted, and the bytes that they stand for: in a signal handler
	 * that allocates while its thread notes one, or without memory.
	 */
	uint64_t nr_lost, lost_bytes;
	/*
	 * Sampled blocks that count as live for ever: there was no memory to know them again, or a
	 * signal handler freed them while its thread noted something.
	 */
	uint64_t nr_forgotten, nr_missed;
	uint64_t allocated_bytes; /* of all sites; not of a record */
	/* In a record: blocks from before it that were freed or resized. */
	struct wire_amount before;
	/* Mappings of the program's own, which the sums above are without. */
	int64_t mapped_bytes, mapped_peak_bytes; /* in use, and the most that it has been */
	int64_t nr_mappings;			 /* in use */
	/* so far; calls that were not noted: in a signal handler, or without room */
	uint64_t nr_mapped, nr_mappings_lost;
	char name[16];		/* of the program, as in /proc/PID/comm; not trusted */
	uint32_t nr_leaving;	/* calls of exec that have not failed: it became another program */
	uint32_t maps_now;	/* which of both texts is whole: 0 or 1 */
	uint32_t maps_bytes[2]; /* how long they are; 0: nothing is known */
	uint64_t seen_at;
	uint32_t seen_bytes; /* how long that is */
	uint32_t nr_unseen;  /* objects that were too many: frames in them have no name */
	struct wire_triggers triggers;
	/* In a record, live in addition to live_bytes: added by a thread while it was alone. */
	int64_t alone_bytes;
	uint64_t log_at; /* wire/log.h, within size_bytes; 0: none */
	/*
	 * In a record: several threads ran, each of which holds back some of its additions to a
	 * sum.
	 */
	uint32_t has_rough_peak;
	/* In a record: blocks without room to know them again, which are not noted at all. */
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

/* How much room there is to be: no more than WIRE_SITES_MAX_NODES and WIRE_SITES_MAX_SITES. */
#define WIRE_SITES_MAX_NODES (UINT32_C(1) << 22)
#define WIRE_SITES_MAX_SITES (UINT32_C(1) << 20)
struct wire_sites_size {
	uint32_t max_nodes, max_sites;
	uint32_t nr_log_blocks; /* no more than WIRE_LOG_MAX_BLOCKS; 0: there is no log */
};

/*
 * Make the head of an empty one in S, whose memory is zero.  Returns how large it is; with S NULL
 * only that.
 */
uint64_t wire_sites_make(struct wire_sites *s, const struct wire_sites_size *size);

/* Whether the head S is one that this memdiag understands, of SIZE bytes. */
bool wire_sites_is_valid(const struct wire_sites *s, uint64_t size);

/*
 * The amount live at SITE.  It is never less than 0, although its counters may change while they
 * are copied.
 */
struct wire_amount wire_site_live(const struct wire_site *site);

/*
 * The amount live at SITE when most was live of all sites together.  A site keeps its amount of
 * then before it changes; one that has not changed since has it still.
 */
struct wire_amount wire_site_peak(const struct wire_sites *s, const struct wire_site *site);

/* Blocks, rounded; of some bytes there is one at least. */
uint64_t wire_objects(struct wire_amount a);

/* ---- the sites of all programs of one run ---- */

#define WIRE_PROFILES_MAGIC UINT64_C(0x31666f7270676d64) /* "dmgprof1" */
#define WIRE_PROFILES_NAME "memdiag-profiles"
#define WIRE_PROFILES_HEADER_BYTES 4096
#define WIRE_MAX_PROFILES 16384

/*
 * A file in memory, of which most is never used.  Each program that starts takes the next slot, a
 * process that becomes another one by exec() another slot: so the file keeps what all of them have
 * noted, whatever they ended by.
 */
struct wire_profiles {
	uint64_t magic;
	uint64_t slot_bytes; /* from WIRE_PROFILES_HEADER_BYTES on, one slot after the other */
	struct wire_sites_size size; /* of each */
	uint32_t max_slots;
	uint32_t nr_taken; /* asked for so far; may be more than there are */
};

static inline uint64_t
wire_profile_offset(const struct wire_profiles *p, uint32_t slot)
{
	return WIRE_PROFILES_HEADER_BYTES + (uint64_t)slot * p->slot_bytes;
}

/* The largest block that is in one class with one of SIZE: four classes for each power of two. */
uint64_t wire_size_class(uint64_t size);

#endif
