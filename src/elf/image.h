/*
 * elf: an ELF object that is mapped in a target: its program headers, symbols, relocations,
 * build-id.  It is read from the mapped file if that is accessible and still the same file, else
 * from the target's memory; so deleted files, containers and overlays make no difference.
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
struct region;
struct target;

/*
 * Files whose bytes several objects share: a file that a hundred processes have mapped is opened
 * and read once.  It owns nothing: a file is in the list as long as an object has it, and the list
 * must outlive these.  A file that was written to is another one.
 */
struct image_files {
	struct image_file *first;
};

/*
 * Open the object whose ELF header is in R, a mapping of T, whose end is {0} if unknown.  If its
 * path is NULL or leads to another file by now, memory is read.  FILES is NULL, or has the files
 * that are open already.  Returns 0 with *RET, or -1 with E (ENOEXEC: not an ELF object).
 */
int image_open(struct image **ret, const struct target *t, const struct region *r,
	struct image_files *files, struct err *e);
/* Open an object from a file, without a mapping: its addresses are those in the file. */
int image_open_file(struct image **ret, const char *path, struct err *e);
/* As image_open_file(), for descriptor FD, which is closed, also on failure. */
int image_open_fd(struct image **ret, int fd, struct err *e);
/* Add an owner: image_free() by the last owner frees the image. */
struct image *image_share(struct image *image);
void image_free(struct image *image);
static inline void
image_cleanup(struct image **image)
{
	image_free(*image);
}
#define auto_image __attribute__((cleanup(image_cleanup)))

/* Return whether it was read from memory, because the file is gone, replaced or inaccessible. */
bool image_is_from_memory(const struct image *image);

/* ELF class and machine: ELFCLASS32/64, EM_X86_64 ... */
int image_class(const struct image *image);
int image_machine(const struct image *image);

/* Return the difference between an address in the target and in the object. */
uint64_t image_bias(const struct image *image);

/* The program headers, with the object's own addresses. */
size_t image_nr_phdrs(const struct image *image);
const Elf64_Phdr *image_phdr(const struct image *image, size_t i);

/* Get [START, END) of all its PT_LOAD segments in the target, bss included. */
void image_extent(const struct image *image, raddr *ret_start, raddr *ret_end);

/*
 * Return SIZE bytes of a segment that is never written to, as mapped at AT; NULL if they are not
 * all in one segment.  Taken from the file if possible, so that the target's pages are not touched.
 * Owned by the image.
 */
const unsigned char *image_bytes(const struct image *image, raddr at, size_t size);

/*
 * As image_bytes(), but copy the file's present bytes into BUF.  Without a file they come from
 * memory, which may contain breakpoints.  Returns 0 or -1.
 */
int image_read(const struct image *image, raddr at, void *buf, size_t size);

/*
 * Return the SIZE bytes that the file has for AT: for a segment that is written to, the values
 * before ld.so and the program changed them.  NULL if they are not all in one segment, or without a
 * file.  Owned by the image.
 */
const unsigned char *image_initial(const struct image *image, raddr at, size_t size);

/* Return the dynamic section in the target; v is 0 if it does not exist. */
raddr image_dynamic(const struct image *image);

/* Store the build-id as lower case hex in BUF; "" if it does not exist.  Returns BUF. */
const char *image_build_id(const struct image *image, char *buf, size_t size);

#endif
