#include <config.h>

#include "elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* No object has a file larger than this; a header that says so is damaged. */
#define IMAGE_MAX_BYTES (UINT64_C(8) << 30)
#define MAX_PHDRS 256
#define MAX_SYMBOLS (UINT32_C(1) << 24)

/*
 * The tables of PT_DYNAMIC, read at the first question about symbols: most objects are never asked.
 */
struct tables {
	enum { TABLES_UNREAD, TABLES_READ, TABLES_MISSING } state;
	Elf_Data *sym, *versym;	/* versym is NULL without symbol versions */
	const char *str;
	size_t str_bytes;	/* the last of them is a NUL */
	uint32_t nr_symbols;
	const char *soname;	/* NULL or into str */
	/* DT_GNU_HASH; NULL if the object has only DT_HASH */
	const uint32_t *bucket, *chain;
	uint32_t nr_buckets, first_hashed;
};

struct image {
	size_t nr_owners;
	Elf *elf;
	int fd;			/* of the file, -1 when read from memory */
	char *copy;		/* memory laid out as the file was; sparse, filled as needed */
	size_t size_bytes;	/* of the file or the copy */
	const struct target *target;
	uint64_t bias;
	Elf64_Phdr *phdr;
	size_t nr_phdrs;
	int class, machine;
	struct tables *tables;
};

/* ---- bytes ---- */

static const Elf64_Phdr *
load_holding(const struct image *im, uint64_t vaddr)
{
	for (size_t i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdr[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

/*
 * The SIZE bytes that the object has at VADDR, as libelf data of TYPE; NULL if they are not all in
 * one segment or cannot be read.
 */
static Elf_Data *
data_at(const struct image *im, uint64_t vaddr, uint64_t size, Elf_Type type)
{
	const Elf64_Phdr *p = load_holding(im, vaddr);
	uint64_t offset;
	struct err e;

	if (!p || !size || size > p->p_filesz - (vaddr - p->p_vaddr))
		return NULL;
	offset = p->p_offset + (vaddr - p->p_vaddr);
	if (offset + size > im->size_bytes)
		return NULL;
	if (im->copy &&
		os_read(im->target, (raddr){ vaddr + im->bias }, im->copy + offset, size, &e) < 0)
		return NULL;
	return elf_getdata_rawchunk(im->elf, (int64_t)offset, size, type);
}

/*
 * Where in the file the SIZE bytes of AT are, in one of the segments without FORBIDDEN flags;
 * -1 if they are not.
 */
static int64_t
file_offset(const struct image *im, raddr at, size_t size, uint32_t forbidden)
{
	uint64_t vaddr = at.v - im->bias, offset;
	const Elf64_Phdr *p = load_holding(im, vaddr);

	if (!p || p->p_flags & forbidden || size > p->p_filesz - (vaddr - p->p_vaddr))
		return -1;
	offset = p->p_offset + (vaddr - p->p_vaddr);
	return offset + size > im->size_bytes ? -1 : (int64_t)offset;
}

const unsigned char *
image_bytes(const struct image *im, raddr at, size_t size)
{
	int64_t offset = file_offset(im, at, size, PF_W);
	const char *file = im->copy;
	struct err e;

	if (offset < 0)
		return NULL;
	if (im->copy ? os_read(im->target, at, im->copy + offset, size, &e) < 0
		     : !(file = elf_rawfile(im->elf, NULL)))
		return NULL;
	return (const unsigned char *)file + offset;
}

const unsigned char *
image_initial(const struct image *im, raddr at, size_t size)
{
	int64_t offset = file_offset(im, at, size, 0);
	const char *file = im->copy || offset < 0 ? NULL : elf_rawfile(im->elf, NULL);

	return file ? (const unsigned char *)file + offset : NULL;
}

/* ---- opening ---- */

static int
read_phdrs(struct image *im, struct err *e)
{
	GElf_Ehdr ehdr;
	size_t nr;

	if (!gelf_getehdr(im->elf, &ehdr) || elf_getphdrnum(im->elf, &nr) < 0 || !nr ||
		nr > MAX_PHDRS)
		return err_set(e, ENOEXEC, "no usable ELF header");
	im->class = ehdr.e_ident[EI_CLASS];
	im->machine = ehdr.e_machine;
	im->phdr = calloc(nr, sizeof *im->phdr);
	if (!im->phdr)
		return err_set(e, ENOMEM, "cannot read program headers");
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(im->elf, (int)i, &p))
			return err_set(e, ENOEXEC, "unreadable program headers");
		im->phdr[i] = p;
	}
	im->nr_phdrs = nr;
	return 0;
}

static int
open_file(struct image *im, struct err *e)
{
	struct stat st;

	if (fstat(im->fd, &st) < 0)
		return err_set(e, errno, "cannot examine the mapped file");
	im->size_bytes = (size_t)st.st_size;
	im->elf = elf_begin(im->fd, ELF_C_READ_MMAP, NULL);
	if (!im->elf || elf_kind(im->elf) != ELF_K_ELF)
		return err_set(e, ENOEXEC, "not an ELF file");
	return read_phdrs(im, e);
}

/* How long the file must have been, by the program headers found in memory. */
static int
file_extent(const struct image *im, uint64_t *ret_size, struct err *e)
{
	uint64_t size = 0;

	for (size_t i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_offset > IMAGE_MAX_BYTES || p->p_filesz > IMAGE_MAX_BYTES)
			return err_set(e, ENOEXEC, "damaged program headers");
		if (p->p_offset + p->p_filesz > size)
			size = p->p_offset + p->p_filesz;
	}
	if (!size)
		return err_set(e, ENOEXEC, "no loadable segment");
	*ret_size = size;
	return 0;
}

/*
 * The headers come first, to learn the size; then they are laid into a sparse copy of that size,
 * to which data_at() adds the tables that are asked for.
 */
static int
open_memory(struct image *im, raddr base, struct err *e)
{
	char head[4096];
	uint64_t size = 0;
	ssize_t n = os_read_some(im->target, base, head, sizeof head, e);

	if (n < 0)
		return -1;
	if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return err_set(e, ENOEXEC, "no ELF header at " PRIraddr, base.v);
	im->elf = elf_memory(head, (size_t)n);
	if (!im->elf || read_phdrs(im, e) < 0 || file_extent(im, &size, e) < 0)
		return err_set(e, ENOEXEC, "no usable ELF header at " PRIraddr, base.v);
	elf_end(im->elf);
	if (size < (uint64_t)n)
		n = (ssize_t)size;
	im->elf = NULL;
	im->size_bytes = size;
	im->copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (im->copy == MAP_FAILED) {
		im->copy = NULL;
		return err_set(e, errno, "cannot copy the object at " PRIraddr, base.v);
	}
	memcpy(im->copy, head, (size_t)n);
	im->elf = elf_memory(im->copy, size);
	if (!im->elf)
		return err_set(e, ENOEXEC, "no usable ELF header at " PRIraddr, base.v);
	return 0;
}

/* The header is mapped at BASE; by the segment that holds it, the rest follows. */
static void
find_bias(struct image *im, raddr base)
{
	for (size_t i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdr[i];

		if (p->p_type == PT_LOAD) {	/* the first one is the lowest (ELF gABI) */
			im->bias = base.v - (p->p_vaddr - p->p_offset);
			return;
		}
	}
}

static struct image *
image_new(struct err *e)
{
	struct image *im = calloc(1, sizeof *im);

	if (!im || !(im->tables = calloc(1, sizeof *im->tables))) {
		free(im);
		err_set(e, ENOMEM, "cannot open an object");
		return NULL;
	}
	elf_version(EV_CURRENT);
	im->nr_owners = 1;
	im->fd = -1;
	return im;
}

int
image_open(struct image **ret, const struct target *t, raddr base, const char *path, uint64_t dev,
	uint64_t inode, struct err *e)
{
	struct image *im = image_new(e);

	if (!im)
		return -1;
	im->target = t;
	im->fd = os_mapping_open(t, base, path, dev, inode);
	if ((im->fd >= 0 ? open_file(im, e) : open_memory(im, base, e)) < 0) {
		image_free(im);
		return -1;
	}
	find_bias(im, base);
	*ret = im;
	return 0;
}

int
image_open_file(struct image **ret, const char *path, struct err *e)
{
	struct image *im = image_new(e);

	if (!im)
		return -1;
	im->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (im->fd < 0)
		err_set(e, errno, "cannot open %s", path);
	if (im->fd < 0 || open_file(im, e) < 0) {
		image_free(im);
		return -1;
	}
	*ret = im;
	return 0;
}

struct image *
image_share(struct image *im)
{
	im->nr_owners++;
	return im;
}

void
image_free(struct image *im)
{
	if (!im || --im->nr_owners)
		return;
	elf_end(im->elf);
	cleanup_fd(&im->fd);
	if (im->copy)
		munmap(im->copy, im->size_bytes);
	free(im->phdr);
	free(im->tables);
	free(im);
}

/* ---- plain answers ---- */

bool
image_is_from_memory(const struct image *im)
{
	return im->copy != NULL;
}

int
image_class(const struct image *im)
{
	return im->class;
}

int
image_machine(const struct image *im)
{
	return im->machine;
}

uint64_t
image_bias(const struct image *im)
{
	return im->bias;
}

size_t
image_nr_phdrs(const struct image *im)
{
	return im->nr_phdrs;
}

const Elf64_Phdr *
image_phdr(const struct image *im, size_t i)
{
	return &im->phdr[i];
}

void
image_extent(const struct image *im, raddr *ret_start, raddr *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_vaddr < start)
			start = p->p_vaddr;
		if (p->p_vaddr + p->p_memsz > end)
			end = p->p_vaddr + p->p_memsz;
	}
	if (start > end)
		start = end = 0;
	*ret_start = (raddr){ start + im->bias };
	*ret_end = (raddr){ end + im->bias };
}

static const Elf64_Phdr *
find_phdr(const struct image *im, uint32_t type)
{
	for (size_t i = 0; i < im->nr_phdrs; i++)
		if (im->phdr[i].p_type == type)
			return &im->phdr[i];
	return NULL;
}

raddr
image_dynamic(const struct image *im)
{
	const Elf64_Phdr *p = find_phdr(im, PT_DYNAMIC);

	return (raddr){ p ? p->p_vaddr + im->bias : 0 };
}

/* ---- the dynamic section ---- */

/* What the dynamic section says, as addresses in the object. */
struct dynamic {
	uint64_t symtab, strtab, strsz, gnu_hash, hash, versym, soname, rela, relasz, jmprel, jmprelsz;
	bool has_soname;
};

/*
 * ld.so relocates these pointers in place on most machines, musl and the vdso do not, and in the
 * file they never are: all of them lie below the object's end when taken as they should be.
 */
static uint64_t
to_vaddr(const struct image *im, uint64_t ptr)
{
	return im->bias && ptr >= im->bias ? ptr - im->bias : ptr;
}

static bool
read_dynamic(const struct image *im, struct dynamic *d)
{
	const Elf64_Phdr *p = find_phdr(im, PT_DYNAMIC);
	Elf_Data *data = p ? data_at(im, p->p_vaddr, p->p_filesz, ELF_T_DYN) : NULL;
	GElf_Dyn dyn;

	if (!data)
		return false;
	for (int i = 0; gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		switch (dyn.d_tag) {
		case DT_SYMTAB:
			d->symtab = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_STRTAB:
			d->strtab = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_STRSZ:
			d->strsz = dyn.d_un.d_val;
			break;
		case DT_GNU_HASH:
			d->gnu_hash = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_HASH:
			d->hash = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_VERSYM:
			d->versym = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_RELA:
			d->rela = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_RELASZ:
			d->relasz = dyn.d_un.d_val;
			break;
		case DT_JMPREL:
			d->jmprel = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			d->jmprelsz = dyn.d_un.d_val;
			break;
		case DT_SONAME:
			d->soname = dyn.d_un.d_val;
			d->has_soname = true;
			break;
		default:
			break;
		}
	}
	return d->symtab && d->strtab && d->strsz;
}

static const uint32_t *
words_at(const struct image *im, uint64_t vaddr, uint64_t nr)
{
	Elf_Data *data = nr <= MAX_SYMBOLS ? data_at(im, vaddr, nr * 4, ELF_T_WORD) : NULL;

	return data ? data->d_buf : NULL;
}

/*
 * DT_GNU_HASH: four words, a Bloom filter, the buckets, one hash per symbol.  The number of symbols
 * is told only by the end mark (bit 0) of the chain that begins last.
 */
static bool
read_gnu_hash(const struct image *im, uint64_t vaddr, struct tables *tb)
{
	const uint32_t *head = words_at(im, vaddr, 4);
	uint64_t at = vaddr + 16;
	uint32_t last = 0;

	if (!head || !head[0])
		return false;
	tb->nr_buckets = head[0];
	tb->first_hashed = head[1];
	at += (uint64_t)head[2] * (im->class == ELFCLASS64 ? 8 : 4);
	tb->bucket = words_at(im, at, tb->nr_buckets);
	if (!tb->bucket)
		return false;
	at += (uint64_t)tb->nr_buckets * 4;
	for (uint32_t i = 0; i < tb->nr_buckets; i++)
		if (tb->bucket[i] > last)
			last = tb->bucket[i];
	if (last < tb->first_hashed) {	/* nothing is exported */
		tb->nr_symbols = tb->first_hashed;
		return true;
	}
	for (; last < MAX_SYMBOLS; last++) {
		const uint32_t *hash = words_at(im, at + (last - tb->first_hashed) * 4ULL, 1);

		if (!hash)
			return false;
		if (*hash & 1)
			break;
	}
	tb->nr_symbols = last + 1;
	tb->chain = words_at(im, at, tb->nr_symbols - tb->first_hashed);
	return tb->chain != NULL;
}

/* DT_HASH: nbucket, nchain; there is one chain entry per symbol. */
static bool
read_sysv_hash(const struct image *im, uint64_t vaddr, struct tables *tb)
{
	const uint32_t *head = words_at(im, vaddr, 2);

	if (!head || head[1] > MAX_SYMBOLS)
		return false;
	tb->nr_symbols = head[1];
	return true;
}

static bool
read_tables(const struct image *im, struct tables *tb)
{
	struct dynamic d = { 0 };
	Elf_Data *str;

	if (!read_dynamic(im, &d))
		return false;
	if (!(d.gnu_hash && read_gnu_hash(im, d.gnu_hash, tb)) &&
		!(d.hash && read_sysv_hash(im, d.hash, tb)))
		return false;
	str = data_at(im, d.strtab, d.strsz, ELF_T_BYTE);
	tb->sym = data_at(im, d.symtab, tb->nr_symbols * gelf_fsize(im->elf, ELF_T_SYM, 1, EV_CURRENT),
		ELF_T_SYM);
	if (!str || !tb->sym || ((char *)str->d_buf)[str->d_size - 1] != '\0')
		return false;
	tb->str = str->d_buf;
	tb->str_bytes = str->d_size;
	if (d.versym)
		tb->versym = data_at(im, d.versym, tb->nr_symbols * 2ULL, ELF_T_HALF);
	if (d.has_soname && d.soname < tb->str_bytes)
		tb->soname = tb->str + d.soname;
	return true;
}

/* The tables, or NULL if the object has none that can be used. */
static const struct tables *
tables_of(const struct image *im)
{
	struct tables *tb = im->tables;

	if (tb->state == TABLES_UNREAD) {
		bool is_read = read_tables(im, tb);

		tb->state = is_read ? TABLES_READ : TABLES_MISSING;
	}
	return tb->state == TABLES_READ ? tb : NULL;
}

const char *
image_soname(const struct image *im)
{
	const struct tables *tb = tables_of(im);

	return tb ? tb->soname : NULL;
}

/* ---- symbols ---- */

/* Symbol number I if it is defined and visible; its name and whether its version is the default. */
static bool
symbol_at(const struct image *im, const struct tables *tb, uint32_t i, const char **ret_name,
	struct image_symbol *ret, bool *ret_is_default)
{
	GElf_Sym sym;
	GElf_Versym version = 1;

	if (!gelf_getsym(tb->sym, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		sym.st_name >= tb->str_bytes || GELF_ST_BIND(sym.st_info) == STB_LOCAL)
		return false;
	if (tb->versym)
		gelf_getversym(tb->versym, (int)i, &version);
	*ret_name = tb->str + sym.st_name;
	*ret_is_default = !(version & 0x8000);	/* VERSYM_HIDDEN: only asked for by version */
	*ret = (struct image_symbol){
		.addr = { sym.st_value + im->bias },
		.size_bytes = sym.st_size,
		.type = GELF_ST_TYPE(sym.st_info),
	};
	return true;
}

/* As the dynamic linker hashes names for DT_GNU_HASH (elf/dl-lookup.c, dl_new_hash). */
static uint32_t
gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool
is_default_symbol(const struct image *im, const struct tables *tb, uint32_t i, const char *name,
	struct image_symbol *ret)
{
	const char *found;
	struct image_symbol s;
	bool is_default;

	if (!symbol_at(im, tb, i, &found, &s, &is_default) || !is_default ||
		strcmp(found, name) != 0)
		return false;
	*ret = s;
	return true;
}

int
image_find(const struct image *im, const char *name, struct image_symbol *ret)
{
	const struct tables *tb = tables_of(im);
	uint32_t hash = gnu_hash(name), i;

	if (!tb)
		return -1;
	if (!tb->bucket) {	/* only DT_HASH: old or small objects */
		for (i = 1; i < tb->nr_symbols; i++)
			if (is_default_symbol(im, tb, i, name, ret))
				return 0;
		return -1;
	}
	i = tb->bucket[hash % tb->nr_buckets];
	if (i < tb->first_hashed)
		return -1;
	for (; i < tb->nr_symbols; i++) {
		uint32_t h = tb->chain[i - tb->first_hashed];

		if ((h | 1) == (hash | 1) && is_default_symbol(im, tb, i, name, ret))
			return 0;
		if (h & 1)
			return -1;
	}
	return -1;
}

int
image_each(const struct image *im,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg)
{
	const struct tables *tb = tables_of(im);

	for (uint32_t i = 1; tb && i < tb->nr_symbols; i++) {
		struct image_symbol s;
		const char *name;
		bool is_default;
		int stop;

		if (symbol_at(im, tb, i, &name, &s, &is_default) && (stop = fn(name, &s, arg)))
			return stop;
	}
	return 0;
}

/* ---- pointers ---- */

/* Relocations without a symbol are to the object itself. */
static int
each_rela(const struct image *im, int (*fn)(raddr at, raddr to, void *arg), void *arg)
{
	struct dynamic d = { 0 };
	GElf_Rela rela;
	Elf_Data *data;
	int stop;

	read_dynamic(im, &d);
	data = d.rela ? data_at(im, d.rela, d.relasz, ELF_T_RELA) : NULL;
	for (int i = 0; data && gelf_getrela(data, i, &rela); i++)
		if (GELF_R_SYM(rela.r_info) == 0 &&
			(stop = fn((raddr){ rela.r_offset + im->bias },
				 (raddr){ (uint64_t)rela.r_addend + im->bias }, arg)))
			return stop;
	return 0;
}

/* What is where it will be already: in position-dependent programs, and for REL and RELR. */
static int
each_word(const struct image *im, const Elf64_Phdr *p,
	int (*fn)(raddr at, raddr to, void *arg), void *arg)
{
	size_t word = im->class == ELFCLASS64 ? sizeof(uint64_t) : sizeof(uint32_t);
	raddr start = { p->p_vaddr + im->bias }, first, end;
	const unsigned char *bytes = image_initial(im, start, p->p_filesz);
	int stop;

	image_extent(im, &first, &end);
	for (uint64_t at = 0; bytes && at + word <= p->p_filesz; at += word) {
		uint64_t value = 0;

		memcpy(&value, bytes + at, word);	/* little-endian */
		value += im->bias;
		if (raddr_in((raddr){ value }, first, end) &&
			(stop = fn(raddr_add(start, at), (raddr){ value }, arg)))
			return stop;
	}
	return 0;
}

int
image_each_pointer(
	const struct image *im, int (*fn)(raddr at, raddr to, void *arg), void *arg)
{
	int stop = each_rela(im, fn, arg);

	for (size_t i = 0; i < im->nr_phdrs && !stop; i++)
		if (im->phdr[i].p_type == PT_LOAD && im->phdr[i].p_flags & PF_W)
			stop = each_word(im, &im->phdr[i], fn, arg);
	return stop;
}

/* ---- references ---- */

/*
 * All symbols, also those that a hash table without exports does not count: by convention the strings
 * come right behind them.
 */
static Elf_Data *
all_symbols(const struct image *im, const struct tables *tb, const struct dynamic *d)
{
	Elf_Data *all = d->strtab > d->symtab
		? data_at(im, d->symtab, d->strtab - d->symtab, ELF_T_SYM)
		: NULL;

	return all ? all : tb->sym;
}

/* Of a table of SIZE bytes at VADDR. */
static int
each_reference(const struct image *im, const struct dynamic *d, uint64_t vaddr, uint64_t size,
	int (*fn)(const char *name, uint32_t type, raddr at, void *arg), void *arg)
{
	const struct tables *tb = tables_of(im);
	Elf_Data *data = tb && vaddr ? data_at(im, vaddr, size, ELF_T_RELA) : NULL;
	Elf_Data *symbols = data ? all_symbols(im, tb, d) : NULL;
	GElf_Rela rela;
	GElf_Sym sym;
	int stop;

	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		uint64_t n = GELF_R_SYM(rela.r_info);

		if (n && n < MAX_SYMBOLS && gelf_getsym(symbols, (int)n, &sym) &&
			sym.st_name < tb->str_bytes && GELF_ST_BIND(sym.st_info) != STB_LOCAL &&
			(stop = fn(tb->str + sym.st_name, (uint32_t)GELF_R_TYPE(rela.r_info),
				 (raddr){ rela.r_offset + im->bias }, arg)))
			return stop;
	}
	return 0;
}

int
image_each_reference(const struct image *im,
	int (*fn)(const char *name, uint32_t type, raddr at, void *arg), void *arg)
{
	struct dynamic d = { 0 };
	int stop;

	if (im->class != ELFCLASS64 || !read_dynamic(im, &d))
		return 0;
	stop = each_reference(im, &d, d.rela, d.relasz, fn, arg);
	return stop ? stop : each_reference(im, &d, d.jmprel, d.jmprelsz, fn, arg);
}

/* ---- build-id ---- */

const char *
image_build_id(const struct image *im, char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdr[i];
		Elf_Data *data;
		GElf_Nhdr note;
		size_t at = 0, name, desc;

		if (p->p_type != PT_NOTE)
			continue;
		data = data_at(im, p->p_vaddr, p->p_filesz, p->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
			const unsigned char *id = (const unsigned char *)data->d_buf + desc;

			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
				memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
				continue;
			for (size_t b = 0; b < note.n_descsz && 2 * b + 2 < size; b++)
				snprintf(buf + 2 * b, 3, "%02x", id[b]);
			return buf;
		}
	}
	return buf;
}
