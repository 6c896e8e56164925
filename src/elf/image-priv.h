/* image-priv: declarations shared by the files that read an object. */
#ifndef MEMDIAG_ELF_IMAGE_PRIV_H
#define MEMDIAG_ELF_IMAGE_PRIV_H

#include <elf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct target;

/*
 * The tables of PT_DYNAMIC, or of a static program's file, read when symbols are first needed: for
 * most objects they never are.
 */
struct tables {
	enum { TABLES_UNREAD, TABLES_READ, TABLES_MISSING } state;
	Elf_Data *sym, *versym; /* versym is NULL without symbol versions */
	const char *str;
	size_t str_bytes; /* the last byte is a NUL */
	uint32_t nr_symbols;
	const char *soname; /* NULL, or points into str */
	/* from the file's sections: includes local symbols, and has no hash */
	bool is_whole;
	/* DT_GNU_HASH; NULL if the object has only DT_HASH */
	const uint32_t *bucket, *chain;
	uint32_t nr_buckets, first_hashed;
};

/* A file in a state: a file that was written to since is another one. */
struct image_file_id {
	uint64_t dev, inode, size_bytes;
	struct timespec modified, changed;
};

/* The bytes of an object, which are the same wherever its file is mapped. */
struct image_file {
	size_t nr_owners;
	struct image_files *list; /* the files that it is one of; NULL: it is in no list */
	struct image_file *next;  /* in LIST */
	struct image_file_id id;  /* in LIST */
	Elf *elf;
	int fd;			   /* of the file, -1 when read from memory */
	struct contents *contents; /* of the file, or reconstructed from memory */
	size_t size_bytes;
	Elf64_Phdr *phdr;
	size_t nr_phdrs;
	int class, machine;
	struct tables *tables;
};

struct image {
	size_t nr_owners;
	struct image_file *file;
	const struct target *target;
	bool has_holes; /* memory may lack pages that exist nowhere else */
	uint64_t bias;
};

/*
 * Make sure that the bytes of SECTION of the object's file are read; false if they cannot be read.
 */
bool image_has_section(const struct image *im, Elf_Scn *section);

/*
 * Return the SIZE bytes that the object has at VADDR, as libelf data of TYPE; NULL if they are not
 * all in one segment or cannot be read.
 */
Elf_Data *image_data(const struct image *im, uint64_t vaddr, uint64_t size, Elf_Type type);

/* Return the first program header of TYPE, or NULL. */
const Elf64_Phdr *image_phdr_of_type(const struct image *im, uint32_t type);

#endif
