/*
 * elf: an ELF object that is mapped in a target: its program headers, symbols, relocations,
 * build-id.  Read from the mapped file when that can be reached and is the very one that is mapped,
 * else from the target's memory; so deleted files, containers and overlays make no difference.
 */
#ifndef MEMDIAG_ELF_IMAGE_H
#define MEMDIAG_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

struct image;
struct target;

/*
 * Open the object whose ELF header is in the mapping [BASE, END).  END is {0} where it is not
 * known.  PATH (as /proc/PID/maps prints it), DEV (makedev) and INODE say which file that was; PATH
 * NULL or a file that is not the same any more means: read memory.  Returns 0 with *RET, or -1 with
 * E (ENOEXEC: no ELF object is there).
 */
int image_open(struct image **ret, const struct target *t, raddr base, raddr end, const char *path,
	uint64_t dev, uint64_t inode, struct err *e);
/* Open an object that is mapped nowhere, from a file: its addresses are as the file has them. */
int image_open_file(struct image **ret, const char *path, struct err *e);
/* The same of descriptor FD, which is closed by it, also if it fails. */
int image_open_fd(struct image **ret, int fd, struct err *e);
/* One more owner: it is freed when the last one has let go. */
struct image *image_share(struct image *image);
void image_free(struct image *image);
static inline void
image_cleanup(struct image **image)
{
	image_free(*image);
}
#define auto_image __attribute__((cleanup(image_cleanup)))

/* Whether it was read from memory, because the file is gone, replaced or out of reach. */
bool image_is_from_memory(const struct image *image);

/* ELF class and machine: ELFCLASS32/64, EM_X86_64 ... */
int image_class(const struct image *image);
int image_machine(const struct image *image);

/* The difference between an address in the target and in the object. */
uint64_t image_bias(const struct image *image);

/* Program headers, with addresses as the object has them. */
size_t image_nr_phdrs(const struct image *image);
const Elf64_Phdr *image_phdr(const struct image *image, size_t i);

/* [START, END) of all its PT_LOAD segments in the target, bss included. */
void image_extent(const struct image *image, raddr *ret_start, raddr *ret_end);

/*
 * SIZE bytes of a segment that is never written to, as mapped at AT; NULL if they are not all in
 * one.  Taken from the file if there is one, so that the target's pages are not touched. Owned by
 * the image.
 */
const unsigned char *image_bytes(const struct image *image, raddr at, size_t size);

/*
 * The same, copied into BUF as the file has them now.  Without a file they are from memory, where
 * breakpoints may be in them.  Returns 0 or -1.
 */
int image_read(const struct image *image, raddr at, void *buf, size_t size);

/*
 * SIZE bytes as the file has them for AT: of a segment that is written to, what they were before
 * ld.so and the program came.  NULL if they are not all in one segment, or there is no file.
 * Owned by the image.
 */
const unsigned char *image_initial(const struct image *image, raddr at, size_t size);

/* The dynamic section in the target; v is 0 if it has none. */
raddr image_dynamic(const struct image *image);

/* The build-id as lower case hex into BUF; "" if it has none.  Returns BUF. */
const char *image_build_id(const struct image *image, char *buf, size_t size);

#endif
