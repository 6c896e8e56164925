/*
 * wire: the interface between the agent inside a process and memdiag.  The settings are text in the
 * environment of a program that memdiag starts.  The segment with the counters is a mapping of the
 * process; memdiag reads it at any time without stopping any thread.
 */
#ifndef MEMDIAG_WIRE_WIRE_H
#define MEMDIAG_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/sites.h"

/* The dynamic symbol of the agent that points to its segment. */
#define WIRE_SYMBOL "memdiag_agent_segment"
/* And to what the sampler has noted (wire/sites.h), or NULL. */
#define WIRE_SITES_SYMBOL "memdiag_agent_sites"
/* The name of a file in memory that has a segment in it. */
#define WIRE_SEGMENT_NAME "memdiag-agent"

#define WIRE_MAGIC UINT64_C(0x31746e6567616d64) /* "dmagent1" */
#define WIRE_VERSION 3
#define WIRE_HEADER_BYTES 4096
#define WIRE_MAX_THREADS 4096

enum wire_account {
	WIRE_USABLE,	/* what malloc handed out: malloc_usable_size() */
	WIRE_REQUESTED, /* what the program asked for */
};

enum wire_on_limit {
	WIRE_EXIT,   /* say so and end the process with status 255 */
	WIRE_ENOMEM, /* the call fails */
	WIRE_ABORT,  /* say so and dump core */
	WIRE_SIGNAL, /* SIGTERM once, and the call fails */
	WIRE_REPORT, /* say so once and go on */
};

/* How a record knows a live block again. */
enum wire_live_set {
	WIRE_LIVE_ARRAY, /* 4 bytes for each 16 of the heap: fast */
	WIRE_LIVE_TABLE, /* 13 to 35 bytes for each block that is live: slower */
};

/* Their names for people and scripts, in that order, NULL at the end. */
extern const char *const wire_account_names[];
extern const char *const wire_live_set_names[];
extern const char *const wire_on_limit_names[];

enum wire_way {
	WIRE_PRELOADED, /* there from the start, by LD_PRELOAD or linked with it */
	/* into a running process; counts from when memdiag has set the hooks */
	WIRE_LOADED,
};

/* ---- settings ---- */

/* The variable that has them: WORD=VALUE;WORD=VALUE... */
#define WIRE_ENVIRONMENT "MEMDIAG_AGENT"

struct wire_settings {
	uint64_t pid;	     /* "pid": the process that the rest is for; 0: none */
	const char *segment; /* "segment": the file to use, up to a ';'; NULL: a new one */
	const char *family;  /* "family": the file of all processes, up to a ';'; NULL: none */
	/* "file": NULL, or a name to which ".PID" is added for one that stays */
	const char *file;
	int64_t limit_bytes;   /* "limit"; INT64_MAX: none */
	uint64_t interval_ms;  /* "interval": of the line on stderr; only with prints */
	unsigned int account;  /* "account": enum wire_account, by its name */
	unsigned int on_limit; /* "on-limit": enum wire_on_limit, by its name */
	bool prints;
	bool follows; /* "follow": processes that this one starts are counted, too */
	bool counts;  /* "count": also where samples are taken, which else are taken alone */
	/* Samples: */
	bool profiles;	       /* "profile": from the first call on; the words below are for that */
	bool records;	       /* "record": note all blocks, and not samples; with profiles */
	uint64_t log_blocks;   /* "log": with records, of the log, open from the first call on */
	unsigned int live_set; /* "live-set": enum wire_live_set, by its name; with records */
	uint64_t max_bytes;    /* "max-overhead": of memory that a record takes; 0: any */
	uint64_t rate_bytes;   /* "rate": one for so many bytes on average; 512K, 4M, 1G */
	const char *sites;     /* "sites": struct wire_profiles to note them in; NULL: none */
	const char *prefix;    /* "profile-prefix": of names of .heap files, up to a ';' */
	bool high_water;       /* "high-water" */
	/* "profile-interval", "above", "threshold": as in struct wire_triggers */
	uint64_t dump_interval_bytes, above_bytes, threshold_bytes;
};

/*
 * Read TEXT, into which S points afterwards.  A word that is missing leaves what S has; unknown
 * words, and values that make no sense, are ignored.
 */
void wire_settings_read(struct wire_settings *s, const char *text);
/*
 * Write S as text, so that reading it gives S again.  False: it does not fit the SIZE bytes of BUF.
 */
bool wire_settings_write(const struct wire_settings *s, char *buf, size_t size);

/* Copy the path that one of S's up to a ';' points to, cut off at SIZE. */
void wire_path(char *buf, size_t size, const char *path);

/*
 * Decimal digits, and nothing else up to END or NUL.  False: TEXT is something else, and *RET
 * unchanged.
 */
bool wire_number(const char *text, char end, uint64_t *ret);
/* N as a limit in bytes; INT64_MAX, none, if it is larger. */
int64_t wire_limit(uint64_t n);

/* ---- the segment ---- */

/*
 * Counters with one writer, the thread they are of.  They stay when it has ended, and the next
 * thread goes on with them.  A block may be freed by another thread than the one that got it, so
 * what is live of one alone may be negative; the sum is what counts.
 */
struct wire_thread {
	int64_t live_bytes;		 /* allocated less freed */
	int64_t ceiling_bytes;		 /* above this it has to look: the lesser of the next two */
	int64_t granted_bytes;		 /* live_bytes may grow to this without asking */
	int64_t peak_bytes;		 /* the most that live_bytes has been */
	int64_t floor_bytes;		 /* below this some of the grant is given back */
	uint64_t nr_allocated, nr_freed; /* blocks, without mappings */
	int64_t slack_bytes;		 /* how much is granted at a time */
	int64_t first_bytes;		 /* live_bytes when the present thread took over */
	/*
	 * Up to here memdiag writes them when counting begins anew; what follows a thread may be
	 * using.
	 */
	uint32_t tid;	     /* 0: never used */
	uint32_t is_busy;    /* between looking at what is granted and using it */
	uint32_t is_refused; /* has been refused at the limit, and may use the reserve */
	/* in a hook: a block may be there and not be counted yet, or the reverse */
	uint32_t is_inside;
	/*
	 * Its list of robust mutexes, as the kernel knows it, if that is what the place is for: in
	 * a static program it is that of a thread's stack, for all who have it one after the other.
	 * Else 0.
	 */
	uint64_t robust_list;
	uint64_t stack; /* the thread pointer of its thread: none that lives has the same */
	/*
	 * Counted for a mapping that is just being made or unmapped.  If the thread has left that
	 * call, by longjmp() or because it was cancelled, it stops counting when the place is used
	 * again.
	 */
	int64_t pending_bytes;
	uint64_t freed_bytes; /* of blocks, so far; with live_bytes, what was allocated */
	/*
	 * So many more bytes until the thread takes a sample; 0: it begins.  Only where samples are
	 * taken.
	 */
	int64_t countdown_bytes;
};

struct wire_segment {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* the threads begin here */
	uint32_t thread_bytes; /* size of each */
	uint32_t max_threads;
	/* used so far; the first is shared by threads that found no place */
	uint32_t nr_threads;
	uint32_t pid;
	uint32_t account, on_limit;
	uint64_t started_ns; /* CLOCK_REALTIME */
	uint64_t code_bytes; /* VmExe: the text of the program */
	/* counted from the start: code_bytes under MemTracer's contract, else 0 */
	int64_t base_bytes;
	int64_t limit_bytes;   /* INT64_MAX: none */
	int64_t reserve_bytes; /* of the limit, for those who were refused */
	/* Changed by one thread at a time. */
	int64_t taken_bytes; /* base + all that is granted; never more than the limit */
	int64_t taken_peak_bytes;
	int64_t mapped_bytes; /* by mmap() of the program; included in the bytes of threads */
	int64_t mapped_peak_bytes;
	uint64_t nr_mappings;
	uint64_t nr_refused;
	uint32_t is_reported; /* WIRE_REPORT: has said so */
	uint32_t way;	      /* enum wire_way */
	/* In WIRE_LOADED, written by memdiag: */
	uint32_t is_counting; /* of WIRE_PRELOADED: by the agent, once */
	uint32_t nr_starts;   /* counters begin anew with each */
	int64_t before_bytes; /* in use when counting began, and not in any thread's counter */
	uint64_t nr_before;   /* blocks of these */
	/* of these, this many may be missing, or be too many; UINT32_MAX: any number */
	uint32_t nr_doubtful;
	uint32_t noting; /* enum wire_noting; written as is_counting */
	/* the most that was seen to be live, of all threads together */
	int64_t seen_peak_bytes;
	/* In WIRE_LOADED: only the change since counting began is known, not what was in use. */
	uint32_t has_no_before;
	/*
	 * In WIRE_PRELOADED: the program calls its malloc also by functions of its own (mallocx(),
	 * tc_malloc() ...), which are not hooked.
	 */
	uint32_t has_unhooked;
};

/* The dynamic symbol of the agent that shows memdiag what to hook in a running process. */
#define WIRE_LIVE_SYMBOL "memdiag_agent_live"
#define WIRE_LIVE_MAGIC UINT64_C(0x616576696c67646d) /* "mdglivea" */
#define WIRE_MAX_HOOKS 24
#define WIRE_MAX_OTHERS 64

/* The way in which struct wire_sites notes blocks. */
enum wire_noting {
	WIRE_NOTE_NOTHING,
	WIRE_NOTE_SAMPLES,
	WIRE_NOTE_ALL, /* a record */
};

/* The jobs that a process has hooks for. */
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
	/* for each enum wire_jobs what is to be called instead; 0: it is called as ever */
	uint64_t hook[WIRE_NR_JOBS];
	uint64_t real; /* of the pointer to what does as the function did */
};

/* The same for another malloc than glibc's, with one hook, which asks for the jobs. */
struct wire_other_hook {
	char name[40]; /* of its function; "" ends the list */
	uint64_t hook, real;
};

/* A request of memdiag's to the agent in a process that ran already, by a call of live.request. */
struct wire_request {
	int64_t fd; /* a file for the sites (wire/sites.h), all zeroes; less than 0: none */
	uint32_t max_nodes, max_sites; /* that it has room for */
	uint32_t nr_log_blocks, opens_log;
	uint64_t max_bytes; /* of memory that a record takes; 0: any */
	uint64_t live_set;  /* enum wire_live_set */
	/* The period of samples, taken from when the hooks are set; wire_capture_of(). */
	uint64_t period_bytes;
	struct wire_triggers triggers; /* what is asked for */
	/*
	 * In a program without a dynamic linker: the ELF headers of the program and the vDSO, and
	 * the program's .eh_frame; 0: none.
	 */
	uint64_t program, vdso, frames, frames_bytes;
	uint64_t is_end;  /* instead: give back the memory that is not needed to read the sites */
	uint64_t is_done; /* the answer: 0, there is no memory for it */
};

struct wire_live {
	uint64_t magic;
	/*
	 * The calls of libc's malloc to itself, written by memdiag: calls of free() that return
	 * here are not the program's.
	 */
	uint64_t inner_start, inner_bytes;
	/*
	 * Written before the agent's constructor runs, in a program without a dynamic linker: the
	 * size of a page.  Every REAL is filled by then, as only memdiag can find the functions.
	 */
	uint64_t page_bytes;
	/* void (*)(struct wire_request *), to be called in a thread of the process */
	uint64_t request;
	/*
	 * Where the program calls the agent's functions by their names: a uint16_t that memdiag
	 * writes: enum wire_noting.
	 */
	uint64_t noting_at;
	/*
	 * Where memdiag writes two words before it sets hooks: from which address on, and for how
	 * many bytes, code calls mmap() and so on for itself and not for the program.
	 */
	uint64_t libc_at;
	struct wire_hook hook[WIRE_MAX_HOOKS];
	/*
	 * Where malloc is not glibc's all but those for mappings and _Fork() are at OTHERS.  Before
	 * they are set, and when jobs change, memdiag writes the word of MODE for the jobs to the
	 * uint32_t at MODE_AT.
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

/* The size of one with NR threads; and of a whole one, of which most is never used. */
#define WIRE_SEGMENT_BYTES(nr) (WIRE_HEADER_BYTES + (nr) * sizeof(struct wire_thread))
#define WIRE_WHOLE_BYTES WIRE_SEGMENT_BYTES(WIRE_MAX_THREADS)

/* ---- the processes of one run ---- */

/* The dynamic symbol of the agent that points to their table, or is NULL. */
#define WIRE_FAMILY_SYMBOL "memdiag_agent_family"
#define WIRE_FAMILY_MAGIC UINT64_C(0x31796c6d66676d64) /* "dmgfmly1" */
#define WIRE_MAX_PROCESSES 16384

enum wire_process_state {
	WIRE_PROCESS_FREE,
	WIRE_PROCESS_BUSY, /* is being filled */
	WIRE_PROCESS_USED,
	WIRE_PROCESS_ENDED, /* has ended or run another program, and that was noticed */
};

struct wire_process {
	uint32_t state;		/* enum wire_process_state */
	uint32_t pid;		/* as the process has it */
	uint64_t start_ticks;	/* field 22 of /proc/PID/stat; 0: not known */
	uint64_t pid_namespace; /* which PID is of; 0: not known */
	/* of the pool; negative: it gave back what it had from its parent */
	int64_t taken_bytes;
	char name[16]; /* as in /proc/PID/comm */
	uint64_t unused[2];
};

/*
 * A file in memory, of which most is never used: this, the processes from WIRE_FAMILY_HEADER_BYTES
 * on, and from WIRE_FAMILY_BYTES on a segment for each of them.
 */
struct wire_family {
	uint64_t magic;
	uint32_t max_processes;
	uint32_t run_pid, run_fd; /* of memdiag, which has the file open */
	uint32_t nr_running;	  /* and not known to have ended */
	uint64_t nr_claimed;	  /* entries asked for so far; used again from the first one on */
	/* processes that found no entry, or whose entry is another's by now */
	uint64_t nr_lost;
	uint64_t unused;
	int64_t limit_bytes;		       /* for all together; INT64_MAX: none */
	int64_t taken_bytes, taken_peak_bytes; /* the pool; taken is never more than the limit */
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

/* ---- sums ---- */

/* All threads together. */
struct wire_totals {
	uint64_t live_bytes;   /* blocks and mappings */
	uint64_t mapped_bytes; /* of which mappings */
	/* the most that was live; exact for one thread, nearly so for several */
	uint64_t peak_bytes;
	uint64_t nr_allocated, nr_freed, nr_live;
	/* allocated less freed, of blocks: negative if more of those from before were freed */
	int64_t grown_bytes, nr_grown;
	/* so far, blocks and mappings; includes what realloc() adds to a block */
	uint64_t allocated_bytes;
};

/*
 * Add up S, of which NR threads can be read.  Exact when no thread is at work meanwhile, else as
 * of some moment in between for each thread.
 */
void wire_add_up(const struct wire_segment *s, uint32_t nr, struct wire_totals *ret);

/*
 * Whether the SIZE bytes at S are a segment that this memdiag understands, whose threads they hold.
 * Only its head is read: with WIRE_WHOLE_BYTES it can be asked before the threads,
 * WIRE_SEGMENT_BYTES(s->nr_threads), are copied.
 */
bool wire_is_valid(const struct wire_segment *s, uint64_t size);

#endif
