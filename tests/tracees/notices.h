/*
 * notices: shared by the files of that program, which notices.c describes.
 *
 *	notices.c	 the waits in turn, threads, coroutines, commands
 *	notices-call.c	 the one place of all waits, and the registers before and after
 *	notices-kinds.c	 the arguments of each kind of wait, and the results that are right
 *	notices-ring.c	 the same for io_uring
 *	notices-peer.c	 the process that ends the waits, and interrupts those that hang
 *	notices-memory.c blocks, stacks, descriptors, mappings and timers
 */
#ifndef MEMDIAG_TESTS_NOTICES_H
#define MEMDIAG_TESTS_NOTICES_H

#include "tracee.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <ucontext.h>

#define NR_CHANNELS 4 /* the peer never writes to the first */
#define QUIET 0
#define SOCKET 3
#define NR_SLOTS 16
#define NR_EPOLLS 2
#define NR_SMALL_BLOCKS 256
#define MAX_WAITERS 64
#define MAX_COROUTINES 16
#define COROUTINE_BYTES 32768
#define COROUTINE_GUARD_BYTES 4096
#define NO_TIMEOUT UINT64_MAX
#define MS_NS UINT64_C(1000000)

/* Signals: for a handler, for sigtimedwait(), and to interrupt a wait that hangs. */
#define SIGNAL_HANDLED SIGUSR1
#define SIGNAL_TAKEN (SIGRTMIN + 1)
#define SIGNAL_RESCUE (SIGRTMIN + 2)

enum fault {
	FAULT_REGISTERS, /* general registers */
	FAULT_VECTOR,	 /* vector registers, MXCSR and the x87 control word */
	FAULT_RESULT,	 /* a result that does not fit the wait or the peer's record */
	FAULT_EARLY,	 /* a timeout before it has passed */
	FAULT_MISSED,	 /* a timeout although the event came in time */
	FAULT_EINTR,	 /* EINTR, but no handler has run */
	FAULT_HUNG,	 /* the wait should have ended, and the thread still sleeps */
	FAULT_MEMORY,	 /* blocks, or arguments that the call does not write to */
	FAULT_STACK,	 /* the red zone, and what lies below it on a stack that the program made */
	FAULT_ERRNO,	 /* errno */
	FAULT_MASK,	 /* the signal mask */
	FAULT_THREAD,	 /* the alternate stack, robust list, FS base, thread-local variables */
	FAULT_DESCRIPTORS, /* the list of descriptors and their files */
	FAULT_MAPPINGS,	   /* the number of mapped bytes */
	FAULT_TIMER,	   /* a timer differs from the clock */
	NR_FAULTS
};

/*
 * Read and written by notices_call(): keep the offsets.  After the call nr_below is 0, or the
 * distance from the red zone to the lowest word that has changed, in words, and below its value.
 */
enum gpr { RAX, RDI, RSI, RDX, R10, R8, R9, RBX, RBP, R12, R13, R14, R15, NR_GPR };
struct registers {
	uint64_t gpr[NR_GPR];
	uint64_t red_zone[16]; /* 104: below the stack pointer */
	uint64_t ymm[16][4];   /* 232 */
	uint32_t mxcsr;	       /* 744 */
	uint16_t x87_control;  /* 748 */
	uint16_t has_avx;      /* 750 */
	uint64_t nr_below;     /* 752: number of words below the red zone */
	uint64_t below;	       /* 760: their value */
	uint64_t sp;	       /* 768: after: the stack pointer */
};

/* The arguments in memory of one wait. */
struct slot {
	uint64_t guard[8];
	struct pollfd fds[NR_CHANNELS];
	struct epoll_event events[NR_CHANNELS];
	fd_set set;
	struct timespec time; /* or a struct timeval */
	uint64_t mask;
	uint64_t pselect[2];
	uint64_t ring[3]; /* struct io_uring_getevents_arg */
	siginfo_t info;
	unsigned char data[64];
	uint64_t guard_after[8];
};

enum order_state { ORDER_NONE, ORDER_POSTED, ORDER_BEGUN, ORDER_DONE };
enum order_what { ORDER_WRITE, ORDER_WAKE, ORDER_SIGNAL, ORDER_TAKEN_SIGNAL };

/* An event that a waiter orders from the peer, and its record; in shared memory. */
struct order {
	uint32_t state;
	enum order_what what;
	uint64_t due_ns, done_ns;
	int fd;
	uint32_t nr_bytes, value;
	uint32_t word; /* for futex */

	/* The wait: the peer interrupts it if it hangs. */
	pid_t tid;
	uint32_t is_waiting, is_rescued;
	uint64_t wait_nr, end_ns;
};

struct shared {
	uint32_t bell; /* a futex: changes with each order */
	uint32_t is_storm;
	int nr_waiters;
	struct order order[MAX_WAITERS];
};

struct coroutine {
	ucontext_t context;
	unsigned char *guard; /* COROUTINE_GUARD_BYTES, then the stack */
};

struct ring {
	int fd;
	uint32_t *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

struct block {
	uint64_t *words;
	uint32_t nr_words, version;
};

struct waiter {
	int index;
	uint64_t random;
	struct order *order;

	int channel[NR_CHANNELS][2]; /* where it reads, where the peer writes */
	int epoll[NR_EPOLLS], timer;
	struct ring ring;
	struct pollfd *many; /* nr_many of them, most of them quiet */
	struct slot *slots, expected[NR_SLOTS];
	struct block blocks[NR_SMALL_BLOCKS];
	struct coroutine coroutine[MAX_COROUTINES], *on;
	ucontext_t outside;
	uint64_t fs_base, robust_list;
	volatile uint32_t nr_handled;
	uint32_t nr_checks_done;

	/* This stretch of waits. */
	uint32_t nr_left;
	bool has_same_arguments;

	/* This wait. */
	uint64_t nr;
	const struct kind *kind;
	struct slot *slot, *want; /* the arguments, and those that are right afterwards */
	int at;			  /* the channel of the order */
	int at_epoll;
	bool is_ordered;
	uint64_t timeout_ns, start_ns, end_ns, mask;
	uint32_t nr_handled_before, nr_taken; /* bytes */
	struct registers before, after;
};

enum outcome { EVENT_CAME, TIMED_OUT, INTERRUPTED };

struct kind {
	const char *name;
	void (*prepare)(struct waiter *w);
	/* Check the result and the memory that the call writes to. */
	void (*judge)(struct waiter *w, long result, enum outcome how);
	void (*finish)(struct waiter *w); /* NULL: nothing to do */
	bool (*is_here)(void);		  /* NULL: everywhere */
	bool has_order, has_timeout, may_lack_timeout, is_whole_ms;
	enum order_what what;
	long timed_out;		 /* the result of a timeout */
	enum gpr timeout_at;	 /* register of a timeout, which memdiag may change; RAX: none */
	enum gpr rest_at;	 /* the address where a sleep writes what is left */
	int only_at;		 /* the only channel, 0: any */
	uint64_t granularity_ns; /* the kernel itself may end it so much early */
};

extern const struct kind kinds[];
extern const size_t nr_kinds;
extern struct shared *shared;
extern size_t nr_many;
extern bool has_avx, has_ring;

uint64_t draw(struct waiter *w, uint64_t below);
void fault(struct waiter *w, enum fault f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void documented(void);
uint64_t tag_of(const struct waiter *w, uint64_t nr, unsigned int at);

/* notices-call.c */
void registers_fill(struct waiter *w);
void notices_call(const struct registers *before, struct registers *after);
void registers_compare(struct waiter *w);

/* notices-kinds.c */
void set_call(struct waiter *w, long nr, int nr_args, const uint64_t *args);
bool channel_is_true(struct waiter *w, int at, const char *what);
struct timespec *slot_time(struct waiter *w);

/* notices-ring.c */
bool ring_open(struct ring *r);
void prepare_ring(struct waiter *w);
bool ring_is_here(void);
void judge_ring(struct waiter *w, long result, enum outcome how);
void finish_ring(struct waiter *w);

/* notices-peer.c */
void peer_start(void);
void peer_end(void);
void order_post(struct waiter *w, uint64_t delay_ns);
enum order_state order_end(struct waiter *w);

/* notices-memory.c */
void memory_set_limits(void);
void memory_open(uint64_t seed);
void memory_turn(void);
void memory_check(void);
void waiter_memory_open(struct waiter *w);
void waiter_memory_turn(struct waiter *w);
void waiter_memory_check(struct waiter *w);
void arenas_open(long nr, long mib);
void process_remember(void);
void process_check(bool has_agent);
void timers_open(void);
void timers_check(void);

#endif
