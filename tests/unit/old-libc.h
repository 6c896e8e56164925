/* old-libc: what tests use of glibc 2.33 and later, for older ones. */
#ifndef MEMDIAG_TESTS_OLD_LIBC_H
#define MEMDIAG_TESTS_OLD_LIBC_H

#include <malloc.h>

#if !__GLIBC_PREREQ(2, 33)
/* mallinfo() counts in int, which is enough for what tests allocate. */
struct mallinfo2 {
	size_t arena, hblks, hblkhd, uordblks, fordblks;
};

static inline struct mallinfo2
mallinfo2(void)
{
	const struct mallinfo m = mallinfo();

	return (struct mallinfo2){ (size_t)m.arena, (size_t)m.hblks, (size_t)m.hblkhd,
		(size_t)m.uordblks, (size_t)m.fordblks };
}
#endif

#endif
