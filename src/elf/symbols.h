/*
 * symbols: the symbols, relocations, pointers and sections of an object.
 */
#ifndef MEMDIAG_ELF_SYMBOLS_H
#define MEMDIAG_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"

struct image;

/* Return whether it is a program without a dynamic linker. */
bool image_is_static(const struct image *image);

/*
 * Call FN for every word that is initialised to point into the object itself: the word is at AT and
 * points to TO.  Includes words that only look so.  Taken from the relocations and the file, so
 * that later writes do not matter; without a file, only those that relocations give in full (RELA).
 * FN returns 0 to continue; another value ends the walk and is returned.
 */
int image_each_pointer(
	const struct image *image, int (*fn)(raddr at, raddr to, void *arg), void *arg);

/*
 * Call FN for every word that is filled with the address of a symbol NAME which other objects may
 * define: the word is AT, the relocation's TYPE is the processor's (R_X86_64_JUMP_SLOT ...).  Only
 * with RELA.  FN returns 0 to continue; another value ends the walk and is returned.
 */
int image_each_reference(const struct image *image,
	int (*fn)(const char *name, uint32_t type, raddr at, void *arg), void *arg);

/* A change that the dynamic linker makes to the word at AT when it loads the object. */
struct image_relocation {
	raddr at;
	uint32_t type; /* the processor's (R_X86_64_JUMP_SLOT ...) */
	int64_t addend;
	bool has_symbol;  /* else relative to the object itself */
	const char *name; /* of the symbol, NULL if unknown; owned by the image */
	bool is_local, is_defined;
	uint64_t value; /* value of a defined symbol, in the object */
};

/*
 * Call FN for every relocation with an addend (RELA).  FN returns 0 to continue; another value ends
 * the walk and is returned.
 */
int image_each_relocation(const struct image *image,
	int (*fn)(const struct image_relocation *r, void *arg), void *arg);
/* Return whether it has other relocations (REL, RELR). */
bool image_has_other_relocations(const struct image *image);

/*
 * Get the pointers to the functions that the dynamic linker finally calls, DT_INIT_ARRAY: *RET_NR
 * words at *RET.
 */
void image_initialisers(const struct image *image, raddr *ret, size_t *ret_nr);

/*
 * Call FN for the name of every object that it needs, DT_NEEDED.  FN returns 0 to continue; another
 * value ends the walk and is returned.  Names are owned by the image.
 */
int image_each_needed(const struct image *image, int (*fn)(const char *name, void *arg), void *arg);

/* Return DT_SONAME, or NULL.  Owned by the image. */
const char *image_soname(const struct image *image);

/*
 * Find the section NAME, if it is loaded: *RET_BYTES at *RET in the target.  -1: not found, or the
 * file, which alone has the names of sections, cannot be read.
 */
int image_section(const struct image *image, const char *name, raddr *ret, uint64_t *ret_bytes);

struct image_symbol {
	raddr addr; /* in the target; STT_TLS: in the object's thread-local storage */
	uint64_t size_bytes;
	int type;      /* STT_FUNC, STT_OBJECT, STT_GNU_IFUNC ... */
	bool is_local; /* only in a file's own table */
};

/*
 * Find the defined dynamic symbol NAME, in its default version if it has several; in a static
 * program any symbol of its file, except a local one that exists several times.  Returns 0 with
 * *RET, or -1 if the object does not define it.
 */
int image_find(const struct image *image, const char *name, struct image_symbol *ret);

/* Return whether any symbols of it are known: a static program may be stripped. */
bool image_has_symbols(const struct image *image);

/*
 * Call FN for every defined dynamic symbol (any version); in a static program for every symbol.  FN
 * returns 0 to continue; another value ends the walk and is returned.
 */
int image_each(const struct image *image,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg);

/*
 * As image_each(), for every symbol of the file's own table (.symtab), including local ones; a
 * stripped file has no such table.
 */
int image_each_in_file(const struct image *image,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg);

#endif
