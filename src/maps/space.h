/*
 * space: an address space, read from a process, a core file or a saved file.
 */
#ifndef MEMDIAG_MAPS_SPACE_H
#define MEMDIAG_MAPS_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/map-file.h"
#include "glibc/process.h"
#include "maps/maps.h"
#include "os/os.h"

struct space_options {
	enum space_rss rss_from;
	bool want_pss;	  /* and smaps's other numbers; makes the target's mmap() wait */
	bool want_unused; /* LEAF_STACK_UNUSED; needs a read from the kernel for each thread */
	raddr cut[2];	  /* a leaf ends at the page of each of these addresses; 0: unused */
	/*
	 * The target, read just now by process_read() and process_find_arenas(): it is not read
	 * again, and must outlive the space.  NULL: space_read() reads it.
	 */
	const struct process *process;
	/* An earlier reading, which saves work: see process_read_with().  May be NULL. */
	const struct process *known;
	/* Files that several spaces share: see image_open().  May be NULL. */
	struct image_files *files;
	/*
	 * Number of blocks that malloc has mapped separately, by its own account (mp_.n_mmaps); 0:
	 * unknown.  If fewer are found at first, the search continues longer.
	 */
	uint64_t nr_mmapped;
	/*
	 * Called to read that account, if NR_MMAPPED is 0, as soon as the arenas are known: true
	 * with RET set if it can be read.  With 0 no memory is read to search for them; a larger
	 * number never makes a search longer.  NULL: no such function.
	 */
	bool (*count_mmapped)(const struct process *p, uint64_t *ret);
};

/*
 * Read the target's address space and count its pages.  No thread is stopped.  S need not be
 * initialised; on failure it is released.  It succeeds even if pages cannot be counted: then
 * rss_from is SPACE_RSS_NONE, and rss_error has the reason.  It also succeeds if the target's
 * memory may not be read, for example because of Yama; then memory_error has the reason, and no
 * thread's stack, heap or arena is found.
 */
int space_read(
	struct space *s, const struct target *t, const struct space_options *opt, struct err *e);

/*
 * As space_read(), for S, an earlier reading of the same target by this function or space_read()
 * with the same OPT, which has no process and no known one: S becomes the present state.  If the
 * mappings, the arenas and the number of threads are the same, only pages are counted, which takes
 * a fraction of the time: then a leaf may have the number of a thread that another one has replaced
 * on its stack.  On failure S is released.
 */
int space_read_again(
	struct space *s, const struct target *t, const struct space_options *opt, struct err *e);

/*
 * As space_read(), for the saved map F, whose mappings are moved to S, and whose text must outlive
 * S.  Stacks, arenas and objects are guessed by names and shapes.  The kernel's counters are
 * missing: BEFORE and AFTER have the sums over the mappings.  rss_error reports if F has no numbers
 * of pages; from smaps S has those that space_knows().  OPT has want_pss and cut.  0, or -1 with E
 * and S released.
 */
int space_read_file(
	struct space *s, struct map_file *f, const struct space_options *opt, struct err *e);
void space_release(struct space *s);

/*
 * Return the memory in bytes that S takes in memdiag.  It is proportional to the number of
 * mappings, which vm.max_map_count bounds (65,530 by default).
 */
uint64_t space_own_bytes(const struct space *s);
#define auto_space __attribute__((cleanup(space_release)))

#endif
