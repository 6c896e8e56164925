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

/* Whether it is a program that asks for no dynamic linker. */
bool image_is_static(const struct image *image);

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

/*
 * Call FN for every word that is initialised to point into the object itself: the one at AT, to TO.
 * Includes words that only look so.  Taken from the relocations and the file, so that later writes
 * do not matter; without a file, only those that relocations give in full (RELA).  FN returns 0 to
 * go on; another value ends the walk and is returned.
 */
int image_each_pointer(
	const struct image *image, int (*fn)(raddr at, raddr to, void *arg), void *arg);

/*
 * Call FN for every word that is filled with the address of a symbol NAME which others may define:
 * the word is AT, the relocation's TYPE is the processor's (R_X86_64_JUMP_SLOT ...).  With RELA
 * only.  FN returns 0 to go on; another value ends the walk and is returned.
 */
int image_each_reference(const struct image *image,
	int (*fn)(const char *name, uint32_t type, raddr at, void *arg), void *arg);

/* The change that the dynamic linker makes to a word at AT when it has the object in memory. */
struct image_relocation {
	raddr at;
	uint32_t type; /* the processor's (R_X86_64_JUMP_SLOT ...) */
	int64_t addend;
	bool has_symbol;  /* else it is the object itself */
	const char *name; /* of the symbol, NULL if unknown; owned by the image */
	bool is_local, is_defined;
	uint64_t value; /* of a symbol that is defined, as the object has it */
};

/*
 * Call FN for every relocation with an addend (RELA).  FN returns 0 to go on; another value ends
 * the walk and is returned.
 */
int image_each_relocation(const struct image *image,
	int (*fn)(const struct image_relocation *r, void *arg), void *arg);
/* Whether there are others (REL, RELR). */
bool image_has_other_relocations(const struct image *image);

/*
 * The pointers to what the dynamic linker calls in the end, DT_INIT_ARRAY: *RET_NR words at *RET.
 */
void image_initialisers(const struct image *image, raddr *ret, size_t *ret_nr);

/*
 * Call FN for the name of every object that it needs, DT_NEEDED.  FN returns 0 to go on; another
 * value ends the walk and is returned. Names are owned by the image.
 */
int image_each_needed(const struct image *image, int (*fn)(const char *name, void *arg), void *arg);

/* DT_SONAME, or NULL.  Owned by the image. */
const char *image_soname(const struct image *image);

/*
 * The section NAME, if it is loaded: *RET_BYTES at *RET in the target.  -1: none, or the
 * file cannot be read, which alone has the names of sections.
 */
int image_section(const struct image *image, const char *name, raddr *ret, uint64_t *ret_bytes);

/* The dynamic section in the target; v is 0 if it has none. */
raddr image_dynamic(const struct image *image);

struct image_symbol {
	raddr addr; /* in the target; STT_TLS: in the object's thread-local storage */
	uint64_t size_bytes;
	int type;      /* STT_FUNC, STT_OBJECT, STT_GNU_IFUNC ... */
	bool is_local; /* only of a file's own table */
};

/*
 * Find the defined dynamic symbol NAME, in its default version if it has several; in a static
 * program any symbol of its file, but none that is local and there several times.  Returns 0 with
 * *RET, or -1 if the object does not define it.
 */
int image_find(const struct image *image, const char *name, struct image_symbol *ret);

/* Whether any symbols of it are known: a static program may have been stripped of all. */
bool image_has_symbols(const struct image *image);

/*
 * Call FN for every defined dynamic symbol (any version); in a static program for every symbol.  FN
 * returns 0 to go on; another value ends the walk and is returned.
 */
int image_each(const struct image *image,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg);

/*
 * The same for every symbol of the file's own table (.symtab), local ones included, which a
 * stripped file does not have.
 */
int image_each_in_file(const struct image *image,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg);

/* The build-id as lower case hex into BUF; "" if it has none.  Returns BUF. */
const char *image_build_id(const struct image *image, char *buf, size_t size);

#endif
