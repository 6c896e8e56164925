/*
 * wire: the interface between the agent inside a process and memdiag.  The settings are text in the
 * environment of a program that memdiag starts.  The segment with the counters is a mapping of the
 * process; memdiag reads it at any time without stopping any thread.
 */
#ifndef MEMDIAG_WIRE_WIRE_H
#define MEMDIAG_WIRE_WIRE_H

#include <stdint.h>

#include "wire/sites.h"

/* The dynamic symbol of the agent's pointer to its segment. */
#define WIRE_SYMBOL "memdiag_agent_segment"
/* The symbol of its pointer to the sites (wire/sites.h); the pointer may be NULL. */
#define WIRE_SITES_SYMBOL "memdiag_agent_sites"
/* The name of the file in memory that contains a segment. */
#define WIRE_SEGMENT_NAME "memdiag-agent"

#define WIRE_MAGIC UINT64_C(0x31746e6567616d64) /* "dmagent1" */
#define WIRE_VERSION 3
#define WIRE_HEADER_BYTES 4096
#define WIRE_MAX_THREADS 4096

enum wire_account {
	WIRE_USABLE,	/* what malloc returned: malloc_usable_size() */
	WIRE_REQUESTED, /* what the program requested */
};

enum wire_on_limit {
	WIRE_EXIT,   /* report it, and end the process with status 255 */
	WIRE_ENOMEM, /* the call fails */
	WIRE_ABORT,  /* report it, and dump core */
	WIRE_SIGNAL, /* SIGTERM once, and the call fails */
	WIRE_REPORT, /* report it once, and continue */
};

/* The data structure in which a record finds live blocks. */
enum wire_live_set {
	WIRE_LIVE_ARRAY, /* 4 bytes for each 16 of the heap: fast */
	WIRE_LIVE_TABLE, /* 13 to 35 bytes for each live block: slower */
};

enum wire_way {
	WIRE_PRELOADED, /* loaded at the start, by LD_PRELOAD or as a linked library */
	/* loaded into a running process; counts once memdiag has set the hooks */
	WIRE_LOADED,
};

/* ---- settings ---- */

/* The environment variable with the settings: WORD=VALUE;WORD=VALUE... */
#define WIRE_ENVIRONMENT "MEMDIAG_AGENT"

/* ---- the segment ---- */

/*
 * The counters of one thread, which alone writes them.  When the thread has ended they keep their
 * values, and the next thread adds to them.  A block may be freed by another thread than the one
 * that allocated it, so the live bytes of a single thread may be negative; only the sum is
 * meaningful.
 */
struct wire_thread {
	int64_t live_bytes;		 /* allocated minus freed */
	int64_t ceiling_bytes;		 /* limit of the quick path: the smaller of the next two */
	int64_t granted_bytes;		 /* live_bytes may grow to this without a new grant */
	int64_t peak_bytes;		 /* the peak of live_bytes */
	int64_t floor_bytes;		 /* below this, part of the grant is returned */
	uint64_t nr_allocated, nr_freed; /* blocks, not mappings */
	int64_t slack_bytes;		 /* slack of a grant */
	int64_t first_bytes;		 /* live_bytes when the present thread took the place */
	/*
	 * memdiag writes the members up to here when counting starts again; a thread may be using
	 * the members below.
	 */
	uint32_t tid;	     /* 0: never used */
	uint32_t is_busy;    /* between comparing with the grant and using it */
	uint32_t is_refused; /* was refused at the limit, and may use the reserve */
	/* in a hook: a block may exist that is not counted yet, or the reverse */
	uint32_t is_inside;
	/*
	 * The thread's list of robust mutexes, as the kernel knows it, if it identifies the place:
	 * in a static program, successive threads on the same stack have the same list.  Otherwise
	 * 0.
	 */
	uint64_t robust_list;
	uint64_t stack; /* the thread pointer of its thread, which is unique among live threads */
	/*
	 * Counted for a mapping that is being created or unmapped.  If the thread has left that
	 * call, by longjmp() or by cancellation, these bytes are subtracted when the place is used
	 * again.
	 */
	int64_t pending_bytes;
	uint64_t freed_bytes; /* of blocks, so far; live_bytes plus this was allocated */
	/*
	 * Bytes left until the thread takes a sample; 0: the thread has not begun.  Used only while
	 * samples are taken.
	 */
	int64_t countdown_bytes;
};

struct wire_segment {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* offset of the threads */
	uint32_t thread_bytes; /* size of each thread's counters */
	uint32_t max_threads;
	/* used so far; threads without a place share the first one */
	uint32_t nr_threads;
	uint32_t pid;
	uint32_t account, on_limit;
	uint64_t started_ns; /* CLOCK_REALTIME */
	uint64_t code_bytes; /* VmExe: the text of the program */
	/* initial count: code_bytes under MemTracer's contract, else 0 */
	int64_t base_bytes;
	int64_t limit_bytes;   /* INT64_MAX: unlimited */
	int64_t reserve_bytes; /* part of the limit, for threads that were refused */
	/* Changed by one thread at a time. */
	int64_t taken_bytes; /* base_bytes plus all grants; at most the limit */
	int64_t taken_peak_bytes;
	int64_t mapped_bytes; /* mapped by the program's mmap(); also in the bytes of threads */
	int64_t mapped_peak_bytes;
	uint64_t nr_mappings;
	uint64_t nr_refused;
	uint32_t is_reported; /* WIRE_REPORT: was reported */
	uint32_t way;	      /* enum wire_way */
	/* With WIRE_LOADED, memdiag writes these: */
	uint32_t is_counting; /* with WIRE_PRELOADED, the agent writes it once */
	uint32_t nr_starts;   /* number of starts; each one resets the counters */
	int64_t before_bytes; /* in use when counting started, and in no thread's counter */
	uint64_t nr_before;   /* number of blocks in before_bytes */
	/* uncertainty of nr_before in blocks; UINT32_MAX: unknown */
	uint32_t nr_doubtful;
	uint32_t noting; /* enum wire_noting; written like is_counting */
	/* the largest sum of live bytes that was seen */
	int64_t seen_peak_bytes;
	/*
	 * With WIRE_LOADED: only the change since the start of counting is known, not the bytes in
	 * use at the start.
	 */
	uint32_t has_no_before;
	/*
	 * With WIRE_PRELOADED: the program also calls functions that only its malloc has
	 * (mallocx(), tc_malloc() ...), which are not hooked.
	 */
	uint32_t has_unhooked;
};

/* The dynamic symbol of the list of functions that memdiag hooks in a running process. */
#define WIRE_LIVE_SYMBOL "memdiag_agent_live"
#define WIRE_LIVE_MAGIC UINT64_C(0x616576696c67646d) /* "mdglivea" */
#define WIRE_MAX_HOOKS 24
#define WIRE_MAX_OTHERS 64

/* The kind of data in struct wire_sites. */
enum wire_noting {
	WIRE_NOTE_NOTHING,
	WIRE_NOTE_SAMPLES,
	WIRE_NOTE_ALL, /* a record */
};

/* The jobs for which a process has hooks. */
enum wire_jobs {
	WIRE_JOBS_COUNT,  /* the counter */
	WIRE_JOBS_SAMPLE, /* the sampler */
	WIRE_JOBS_BOTH,
	WIRE_JOBS_RECORD, /* the recorder */
	WIRE_JOBS_COUNT_AND_RECORD,
	WIRE_NR_JOBS,
};

struct wire_hook {
	char name[24]; /* libc's function; "" ends the list */
	/* for each enum wire_jobs the function to call instead; 0: not hooked */
	uint64_t hook[WIRE_NR_JOBS];
	uint64_t real; /* address of the pointer to the real function */
};

/* A hook for another malloc than glibc's.  The hook itself checks the jobs. */
struct wire_other_hook {
	char name[40]; /* the malloc's function; "" ends the list */
	uint64_t hook, real;
};

/* A request from memdiag to the agent in a process that ran already, by a call of live.request. */
struct wire_request {
	int64_t fd; /* a file of zeroes for the sites (wire/sites.h); negative: no file */
	uint32_t max_nodes, max_sites; /* room in it */
	uint32_t nr_log_blocks, opens_log;
	uint64_t max_bytes; /* memory of a record; 0: unlimited */
	uint64_t live_set;  /* enum wire_live_set */
	/*
	 * The average distance of samples, which are taken once their hooks are set;
	 * wire_capture_of().
	 */
	uint64_t period_bytes;
	struct wire_triggers triggers; /* requested triggers */
	/*
	 * In a program without a dynamic linker: the ELF headers of the program and the vDSO, and
	 * the program's .eh_frame; 0: not present.
	 */
	uint64_t program, vdso, frames, frames_bytes;
	uint64_t is_end;  /* instead: release the memory that is not needed to read the sites */
	uint64_t is_done; /* the answer; 0: no memory is available */
};

struct wire_live {
	uint64_t magic;
	/*
	 * The code of libc's malloc that calls malloc itself, written by memdiag: calls of free()
	 * that return there are not the program's.
	 */
	uint64_t inner_start, inner_bytes;
	/*
	 * The size of a page, in a program without a dynamic linker.  It is written before the
	 * agent's constructor runs.  All REAL are set by then, since only memdiag can find the
	 * functions.
	 */
	uint64_t page_bytes;
	/* void (*)(struct wire_request *); call it in a thread of the process */
	uint64_t request;
	/*
	 * If the program calls the agent's functions by name: the address of a uint16_t to which
	 * memdiag writes an enum wire_noting.
	 */
	uint64_t noting_at;
	/*
	 * The address of two words that memdiag writes before it sets hooks: the start and the size
	 * of the code that calls mmap() and related functions for itself, not for the program.
	 */
	uint64_t libc_at;
	struct wire_hook hook[WIRE_MAX_HOOKS];
	/*
	 * If malloc is not glibc's, all hooks but those for mappings and _Fork() are at OTHERS.
	 * Before these are set, and when jobs change, memdiag writes the word of MODE for the jobs
	 * to the uint32_t at MODE_AT.
	 */
	uint64_t others; /* WIRE_MAX_OTHERS struct wire_other_hook */
	uint64_t mode_at;
	uint32_t mode[WIRE_NR_JOBS];
};

static inline struct wire_thread *
wire_threads(struct wire_segment *s)
{
	return (struct wire_thread *)((char *)s + WIRE_HEADER_BYTES);
}

/* The size of a segment with NR threads, and of the largest one, most of which is never used. */
#define WIRE_SEGMENT_BYTES(nr) (WIRE_HEADER_BYTES + (nr) * sizeof(struct wire_thread))
#define WIRE_WHOLE_BYTES WIRE_SEGMENT_BYTES(WIRE_MAX_THREADS)

/* ---- the processes of one run ---- */

/* The dynamic symbol of the agent's pointer to their table; the pointer may be NULL. */
#define WIRE_FAMILY_SYMBOL "memdiag_agent_family"
#define WIRE_FAMILY_MAGIC UINT64_C(0x31796c6d66676d64) /* "dmgfmly1" */
#define WIRE_MAX_PROCESSES 16384

enum wire_process_state {
	WIRE_PROCESS_FREE,
	WIRE_PROCESS_BUSY, /* is being filled */
	WIRE_PROCESS_USED,
	WIRE_PROCESS_ENDED, /* has ended or executed another program, and this was noticed */
};

struct wire_process {
	uint32_t state;		/* enum wire_process_state */
	uint32_t pid;		/* in the process' own PID namespace */
	uint64_t start_ticks;	/* field 22 of /proc/PID/stat; 0: unknown */
	uint64_t pid_namespace; /* namespace of PID; 0: unknown */
	/* from the pool; negative: it returned bytes of its parent */
	int64_t taken_bytes;
	char name[16]; /* as in /proc/PID/comm */
	uint64_t unused[2];
};

/*
 * A file in memory, most of which is never used: this struct, the processes from
 * WIRE_FAMILY_HEADER_BYTES on, and from WIRE_FAMILY_BYTES on a segment for each of them.
 */
struct wire_family {
	uint64_t magic;
	uint32_t max_processes;
	uint32_t run_pid, run_fd; /* memdiag's, which has the file open */
	uint32_t nr_running;	  /* processes not known to have ended */
	uint64_t nr_claimed;	  /* entries requested so far; reused from the first on */
	/* processes without an entry, or whose entry was reused */
	uint64_t nr_lost;
	uint64_t unused;
	int64_t limit_bytes;		       /* for all processes; INT64_MAX: unlimited */
	int64_t taken_bytes, taken_peak_bytes; /* the pool; taken_bytes never exceeds the limit */
};

#define WIRE_FAMILY_HEADER_BYTES 4096
#define WIRE_FAMILY_BYTES                                                                          \
	(WIRE_FAMILY_HEADER_BYTES + WIRE_MAX_PROCESSES * sizeof(struct wire_process))

static inline struct wire_process *
wire_processes(struct wire_family *f)
{
	return (struct wire_process *)((char *)f + WIRE_FAMILY_HEADER_BYTES);
}

/* The offset in the file of the segment of process number I. */
static inline uint64_t
wire_slot_offset(uint32_t i)
{
	return WIRE_FAMILY_BYTES + (uint64_t)i * WIRE_WHOLE_BYTES;
}

#endif
