/*
 * wire: what the agent inside a process and memdiag share: the segment with the counters.  It is a
 * mapping of the process; memdiag reads it at any time and stops nobody.
 * May use: nothing.
 */
#ifndef MEMDIAG_WIRE_WIRE_H
#define MEMDIAG_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

/* The dynamic symbol of the agent that points to its segment. */
#define WIRE_SYMBOL "memdiag_agent_segment"
/* The variable by which `memdiag run` tells the agent what to do. */
#define WIRE_ENVIRONMENT "MEMDIAG_AGENT"

#define WIRE_MAGIC UINT64_C(0x31746e6567616d64)	/* "dmagent1" */
#define WIRE_VERSION 1
#define WIRE_HEADER_BYTES 4096
#define WIRE_MAX_THREADS 4096

enum wire_account {
	WIRE_USABLE,		/* what malloc handed out: malloc_usable_size() */
	WIRE_REQUESTED,		/* what the program asked for */
};

enum wire_on_limit {
	WIRE_EXIT,		/* say so and end the process with status 255 */
	WIRE_ENOMEM,		/* the call fails */
	WIRE_ABORT,		/* say so and dump core */
	WIRE_SIGNAL,		/* SIGTERM once, and the call fails */
	WIRE_REPORT,		/* say so once and go on */
};

/* Their names for people and scripts, in that order, NULL at the end. */
extern const char *const wire_account_names[];
extern const char *const wire_on_limit_names[];

enum wire_way {
	WIRE_PRELOADED,		/* there from the start, by LD_PRELOAD or linked with it */
	WIRE_LOADED,		/* into a running process; counts from when memdiag has set the hooks */
};

/*
 * Counters with one writer, the thread they are of.  They stay when it has ended, and the next thread
 * goes on with them.  A block may be freed by another thread than the one that got it, so what is
 * live of one alone may be negative; the sum is what counts.
 */
struct wire_thread {
	int64_t live_bytes;	/* allocated less freed */
	int64_t ceiling_bytes;	/* above this it has to look: the lesser of the next two */
	int64_t granted_bytes;	/* live_bytes may grow to this without asking */
	int64_t peak_bytes;	/* the most that live_bytes has been */
	int64_t floor_bytes;	/* below this some of the grant is given back */
	uint64_t nr_allocated, nr_freed;	/* blocks; mappings are not among them */
	int64_t slack_bytes;	/* how much is granted at a time */
	int64_t first_bytes;	/* live_bytes when the present thread took over */
	/* Up to here memdiag writes them when counting begins anew; what follows a thread may be using. */
	uint32_t tid;		/* 0: never used */
	uint32_t is_busy;	/* between looking at what is granted and using it */
	uint32_t is_refused;	/* was told that the limit is reached, and may use the reserve */
	uint32_t is_inside;	/* in a hook: a block may be there and not be counted yet, or the reverse */
	/*
	 * Its list of robust mutexes, as the kernel knows it, if that is what the place is for: in a static
	 * program it is that of a thread's stack, for all who have it one after the other.  Else 0.
	 */
	uint64_t robust_list;
	int64_t padding[4];
};

struct wire_segment {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;	/* the threads begin here */
	uint32_t thread_bytes;	/* size of each */
	uint32_t max_threads;
	uint32_t nr_threads;	/* used so far; the first is shared by threads that found no place */
	uint32_t pid;
	uint32_t account, on_limit;
	uint64_t started_ns;	/* CLOCK_REALTIME */
	uint64_t code_bytes;	/* VmExe: the text of the program */
	int64_t base_bytes;	/* counted from the start: code_bytes under MemTracer's contract, else 0 */
	int64_t limit_bytes;	/* INT64_MAX: none */
	int64_t reserve_bytes;	/* of the limit, for those who were refused */
	/* Changed by one thread at a time. */
	int64_t taken_bytes;	/* base + all that is granted; never more than the limit */
	int64_t taken_peak_bytes;
	int64_t mapped_bytes;	/* by mmap() of the program; counted among the bytes of threads */
	int64_t mapped_peak_bytes;
	uint64_t nr_mappings;
	uint64_t nr_refused;
	uint32_t is_reported;	/* WIRE_REPORT: has said so */
	uint32_t way;		/* enum wire_way */
	/* Of WIRE_LOADED, written by memdiag: */
	uint32_t is_counting;
	uint32_t nr_starts;	/* counters begin anew with each */
	int64_t before_bytes;	/* in use when counting began, and not in any thread's counter */
	uint64_t nr_before;	/* blocks of these */
	uint32_t nr_doubtful;	/* of these, so many may be missing, or be too many; UINT32_MAX: any */
};

/* The dynamic symbol of the agent that tells memdiag what to hook in a running process. */
#define WIRE_LIVE_SYMBOL "memdiag_agent_live"
#define WIRE_LIVE_MAGIC UINT64_C(0x326576696c67646d)	/* "mdglive2" */
#define WIRE_MAX_HOOKS 24

struct wire_hook {
	char name[24];		/* libc's function; "" ends the list */
	uint64_t hook;		/* address of what is to be called instead; 0: it is called as ever */
	uint64_t real;		/* of the pointer to what does as the function did */
};

struct wire_live {
	uint64_t magic;
	/* Where libc's malloc calls itself, written by memdiag: calls of free() that come back to
	 * here are not the program's. */
	uint64_t inner_start, inner_bytes;
	/*
	 * Written before the agent's constructor runs, in a program without a dynamic linker: the size of a
	 * page.  Every REAL is filled by then, for nobody else can find what it is to point to.
	 */
	uint64_t page_bytes;
	struct wire_hook hook[WIRE_MAX_HOOKS];
};

static inline struct wire_thread *
wire_threads(struct wire_segment *s)
{
	return (struct wire_thread *)((char *)s + WIRE_HEADER_BYTES);
}

#define WIRE_SEGMENT_BYTES(nr) (WIRE_HEADER_BYTES + (nr) * sizeof(struct wire_thread))

/* All threads together. */
struct wire_totals {
	uint64_t live_bytes;	/* blocks and mappings */
	uint64_t mapped_bytes;	/* of which mappings */
	uint64_t peak_bytes;	/* the most that was live; exact for one thread, at most for several */
	uint64_t nr_allocated, nr_freed, nr_live;
};

/*
 * Add up S, of which NR threads can be read.  Exact when no thread is at work meanwhile, else as
 * of some moment in between for each thread.
 */
void wire_add_up(const struct wire_segment *s, uint32_t nr, struct wire_totals *ret);

/*
 * Whether the SIZE bytes at S are a segment that this memdiag understands, whose threads they hold.
 */
bool wire_is_valid(const struct wire_segment *s, uint64_t size);

#endif
