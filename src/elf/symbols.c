/* The tables of an object: symbols, pointers, references. */
#include <config.h>

#include "elf/symbols.h"

#include "elf/image-priv.h"
#include "elf/image.h"

#include <string.h>

#ifndef DT_RELR
#define DT_RELR 36 /* since glibc 2.36 */
#endif

#define MAX_SYMBOLS (UINT32_C(1) << 24)

/* ---- the dynamic section ---- */

/* The contents of the dynamic section, as addresses in the object. */
struct dynamic {
	uint64_t symtab, strtab, strsz, gnu_hash, hash, versym, soname, rela, relasz, jmprel,
		jmprelsz;
	uint64_t init_array, init_arraysz;
	bool has_soname, is_program, has_other_relocations;
};

/*
 * Convert a pointer to an address in the object.  ld.so relocates these pointers in place on most
 * machines, musl and the vdso do not, and in the file they are never relocated: correctly
 * converted, all of them lie below the object's end.
 */
static uint64_t
to_vaddr(const struct image *im, uint64_t ptr)
{
	return im->bias && ptr >= im->bias ? ptr - im->bias : ptr;
}

static bool
read_dynamic(const struct image *im, struct dynamic *d)
{
	const Elf64_Phdr *p = image_phdr_of_type(im, PT_DYNAMIC);
	Elf_Data *data = p ? image_data(im, p->p_vaddr, p->p_filesz, ELF_T_DYN) : NULL;
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
		case DT_INIT_ARRAY:
			d->init_array = to_vaddr(im, dyn.d_un.d_ptr);
			break;
		case DT_INIT_ARRAYSZ:
			d->init_arraysz = dyn.d_un.d_val;
			break;
		case DT_FLAGS_1:
			d->is_program = dyn.d_un.d_val & DF_1_PIE;
			break;
		case DT_REL:
		case DT_RELR:
			d->has_other_relocations = true;
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
symbols_words_at(const struct image *im, uint64_t vaddr, uint64_t nr)
{
	Elf_Data *data = nr <= MAX_SYMBOLS ? image_data(im, vaddr, nr * 4, ELF_T_WORD) : NULL;

	return data ? data->d_buf : NULL;
}

/*
 * Read DT_GNU_HASH: four words, a Bloom filter, the buckets, one hash per symbol.  Only the end
 * mark (bit 0) of the chain that begins last shows the number of symbols.
 */
static bool
read_gnu_hash(const struct image *im, uint64_t vaddr, struct tables *tb)
{
	const uint32_t *head = symbols_words_at(im, vaddr, 4);
	uint64_t at = vaddr + 16;
	uint32_t last = 0;

	if (!head || !head[0])
		return false;
	tb->nr_buckets = head[0];
	tb->first_hashed = head[1];
	at += (uint64_t)head[2] * (im->file->class == ELFCLASS64 ? 8 : 4);
	tb->bucket = symbols_words_at(im, at, tb->nr_buckets);
	if (!tb->bucket)
		return false;
	at += (uint64_t)tb->nr_buckets * 4;
	for (uint32_t i = 0; i < tb->nr_buckets; i++)
		if (tb->bucket[i] > last)
			last = tb->bucket[i];
	if (last < tb->first_hashed) { /* no symbols are exported */
		tb->nr_symbols = tb->first_hashed;
		return true;
	}
	for (; last < MAX_SYMBOLS; last++) {
		const uint32_t *hash =
			symbols_words_at(im, at + (last - tb->first_hashed) * 4ULL, 1);

		if (!hash)
			return false;
		if (*hash & 1)
			break;
	}
	tb->nr_symbols = last + 1;
	tb->chain = symbols_words_at(im, at, tb->nr_symbols - tb->first_hashed);
	return tb->chain != NULL;
}

/* Read DT_HASH: nbucket, nchain; it has one chain entry per symbol. */
static bool
read_sysv_hash(const struct image *im, uint64_t vaddr, struct tables *tb)
{
	const uint32_t *head = symbols_words_at(im, vaddr, 2);

	if (!head || head[1] > MAX_SYMBOLS)
		return false;
	tb->nr_symbols = head[1];
	return true;
}

static bool
read_dynamic_tables(const struct image *im, struct tables *tb)
{
	struct dynamic d = { 0 };
	Elf_Data *str;

	if (!read_dynamic(im, &d))
		return false;
	if (!(d.gnu_hash && read_gnu_hash(im, d.gnu_hash, tb)) &&
		!(d.hash && read_sysv_hash(im, d.hash, tb)))
		return false;
	str = image_data(im, d.strtab, d.strsz, ELF_T_BYTE);
	tb->sym = image_data(im, d.symtab,
		tb->nr_symbols * gelf_fsize(im->file->elf, ELF_T_SYM, 1, EV_CURRENT), ELF_T_SYM);
	if (!str || !tb->sym || ((char *)str->d_buf)[str->d_size - 1] != '\0')
		return false;
	tb->str = str->d_buf;
	tb->str_bytes = str->d_size;
	if (d.versym)
		tb->versym = image_data(im, d.versym, tb->nr_symbols * 2ULL, ELF_T_HALF);
	if (d.has_soname && d.soname < tb->str_bytes)
		tb->soname = tb->str + d.soname;
	return true;
}

/*
 * Read the symbols of a static program, which needs none at run time: only its file has them,
 * unless it was stripped.
 */
static bool
read_whole_tables(const struct image *im, struct tables *tb)
{
	Elf_Scn *section = NULL, *strings;
	GElf_Shdr header = { 0 };
	Elf_Data *str;

	while (im->file->fd >= 0 && (section = elf_nextscn(im->file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			break;
	if (!section || !header.sh_entsize || header.sh_size / header.sh_entsize > MAX_SYMBOLS)
		return false;
	strings = elf_getscn(im->file->elf, header.sh_link);
	if (!image_has_section(im, section) || !image_has_section(im, strings))
		return false;
	tb->sym = elf_getdata(section, NULL);
	str = elf_getdata(strings, NULL);
	if (!tb->sym || !str || !str->d_size || ((char *)str->d_buf)[str->d_size - 1] != '\0')
		return false;
	tb->nr_symbols = (uint32_t)(header.sh_size / header.sh_entsize);
	tb->str = str->d_buf;
	tb->str_bytes = str->d_size;
	tb->is_whole = true;
	return true;
}

int
image_section(const struct image *im, const char *name, raddr *ret, uint64_t *ret_bytes)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (im->file->fd < 0 || elf_getshdrstrndx(im->file->elf, &names) < 0 ||
		!image_has_section(im, elf_getscn(im->file->elf, names)))
		return -1;
	while ((section = elf_nextscn(im->file->elf, section))) {
		const char *its_name = gelf_getshdr(section, &header)
			? elf_strptr(im->file->elf, names, header.sh_name)
			: NULL;

		if (!its_name || strcmp(its_name, name) != 0 || !(header.sh_flags & SHF_ALLOC))
			continue;
		ret->v = im->bias + header.sh_addr;
		*ret_bytes = header.sh_size;
		return 0;
	}
	return -1;
}

bool
image_is_static(const struct image *im)
{
	struct dynamic d = { 0 };
	GElf_Ehdr header;

	if (image_phdr_of_type(im, PT_INTERP) || !gelf_getehdr(im->file->elf, &header))
		return false;
	read_dynamic(im, &d);
	return header.e_type == ET_EXEC || d.is_program;
}

/* Return the tables, or NULL if the object has no usable ones. */
static const struct tables *
tables_of(const struct image *im)
{
	struct tables *tb = im->file->tables;

	if (tb->state == TABLES_UNREAD) {
		bool is_read = image_is_static(im) ? read_whole_tables(im, tb)
						   : read_dynamic_tables(im, tb);

		tb->state = is_read ? TABLES_READ : TABLES_MISSING;
	}
	return tb->state == TABLES_READ ? tb : NULL;
}

bool
image_has_symbols(const struct image *im)
{
	return tables_of(im) != NULL;
}

int
image_each_needed(const struct image *im, int (*fn)(const char *name, void *arg), void *arg)
{
	const Elf64_Phdr *p = image_phdr_of_type(im, PT_DYNAMIC);
	const struct tables *tb = tables_of(im);
	Elf_Data *data = p ? image_data(im, p->p_vaddr, p->p_filesz, ELF_T_DYN) : NULL;
	GElf_Dyn dyn;
	int status = 0;

	for (int i = 0; data && tb && !status && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL;
		i++)
		if (dyn.d_tag == DT_NEEDED && dyn.d_un.d_val < tb->str_bytes)
			status = fn(tb->str + dyn.d_un.d_val, arg);
	return status;
}

const char *
image_soname(const struct image *im)
{
	const struct tables *tb = tables_of(im);

	return tb ? tb->soname : NULL;
}

/* ---- symbols ---- */

static bool
is_of_the_linker(const GElf_Sym *sym)
{
	return GELF_ST_TYPE(sym->st_info) == STT_SECTION || GELF_ST_TYPE(sym->st_info) == STT_FILE;
}

/*
 * Get symbol number I if it is defined and visible, its name and whether its version is the
 * default.
 */
static bool
symbols_symbol_at(const struct image *im, const struct tables *tb, uint32_t i,
	const char **ret_name, struct image_symbol *ret, bool *ret_is_default)
{
	GElf_Sym sym;
	GElf_Versym version = 1;

	if (!gelf_getsym(tb->sym, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		sym.st_name >= tb->str_bytes)
		return false;
	if (GELF_ST_BIND(sym.st_info) == STB_LOCAL && (!tb->is_whole || is_of_the_linker(&sym)))
		return false;
	if (tb->versym)
		gelf_getversym(tb->versym, (int)i, &version);
	*ret_name = tb->str + sym.st_name;
	*ret_is_default = !(version & 0x8000); /* VERSYM_HIDDEN: only found by version */
	*ret = (struct image_symbol){
		.addr = { sym.st_value + (GELF_ST_TYPE(sym.st_info) == STT_TLS ? 0 : im->bias) },
		.size_bytes = sym.st_size,
		.type = GELF_ST_TYPE(sym.st_info),
		.is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL,
	};
	return true;
}

/* Return the hash of a name for DT_GNU_HASH (elf/dl-lookup.c, dl_new_hash). */
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

	if (!symbols_symbol_at(im, tb, i, &found, &s, &is_default) || !is_default ||
		strcmp(found, name) != 0)
		return false;
	*ret = s;
	return true;
}

/*
 * Find a symbol in all symbols of a file.  A local symbol is hidden from other files, and may exist
 * several times: then it is not found.
 */
static int
find_in_whole(
	const struct image *im, const struct tables *tb, const char *name, struct image_symbol *ret)
{
	struct image_symbol s, local = { .type = STT_NOTYPE };
	size_t nr_locals = 0;

	for (uint32_t i = 1; i < tb->nr_symbols; i++) {
		if (!is_default_symbol(im, tb, i, name, &s))
			continue;
		if (!s.is_local) {
			*ret = s;
			return 0;
		}
		nr_locals += !nr_locals || s.addr.v != local.addr.v;
		local = s;
	}
	if (nr_locals != 1)
		return -1;
	*ret = local;
	return 0;
}

int
image_find(const struct image *im, const char *name, struct image_symbol *ret)
{
	const struct tables *tb = tables_of(im);
	uint32_t hash = gnu_hash(name), i;

	if (!tb)
		return -1;
	if (tb->is_whole)
		return find_in_whole(im, tb, name, ret);
	if (!tb->bucket) { /* old or small objects have only DT_HASH */
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

static int
each_in(const struct image *im, const struct tables *tb,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg)
{
	for (uint32_t i = 1; tb && i < tb->nr_symbols; i++) {
		struct image_symbol s;
		const char *name;
		bool is_default;
		int stop;

		if (symbols_symbol_at(im, tb, i, &name, &s, &is_default) &&
			(stop = fn(name, &s, arg)))
			return stop;
	}
	return 0;
}

int
image_each(const struct image *im,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg)
{
	return each_in(im, tables_of(im), fn, arg);
}

int
image_each_in_file(const struct image *im,
	int (*fn)(const char *name, const struct image_symbol *s, void *arg), void *arg)
{
	struct tables tb = { 0 };

	return read_whole_tables(im, &tb) ? each_in(im, &tb, fn, arg) : 0;
}

/* ---- relocations ---- */

/*
 * Return all symbols, including those that a hash table without exports does not count: by
 * convention the strings directly follow the symbols.
 */
static Elf_Data *
all_symbols(const struct image *im, const struct tables *tb, const struct dynamic *d)
{
	Elf_Data *all = d->strtab > d->symtab
		? image_data(im, d->symtab, d->strtab - d->symtab, ELF_T_SYM)
		: NULL;

	return all ? all : tb->sym;
}

/* Store the symbol of R_INFO in R, if it has one. */
static void
fill_in_symbol(
	const struct tables *tb, Elf_Data *symbols, uint64_t info, struct image_relocation *r)
{
	uint64_t n = GELF_R_SYM(info);
	GElf_Sym sym;

	if (!n || n >= MAX_SYMBOLS || !symbols || !gelf_getsym(symbols, (int)n, &sym) ||
		sym.st_name >= tb->str_bytes)
		return;
	r->name = tb->str + sym.st_name;
	r->is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL;
	r->is_defined = sym.st_shndx != SHN_UNDEF;
	r->value = sym.st_value;
}

/* Walk a table of SIZE bytes at VADDR. */
static int
each_in_table(const struct image *im, const struct dynamic *d, uint64_t vaddr, uint64_t size,
	int (*fn)(const struct image_relocation *r, void *arg), void *arg)
{
	const struct tables *tb = tables_of(im);
	Elf_Data *data = vaddr ? image_data(im, vaddr, size, ELF_T_RELA) : NULL;
	Elf_Data *symbols = data && tb && !tb->is_whole ? all_symbols(im, tb, d) : NULL;
	GElf_Rela rela;
	int stop;

	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		struct image_relocation r = {
			.at = { rela.r_offset + im->bias },
			.type = (uint32_t)GELF_R_TYPE(rela.r_info),
			.addend = rela.r_addend,
			.has_symbol = GELF_R_SYM(rela.r_info) != 0,
		};

		fill_in_symbol(tb, symbols, rela.r_info, &r);
		if ((stop = fn(&r, arg)))
			return stop;
	}
	return 0;
}

int
image_each_relocation(
	const struct image *im, int (*fn)(const struct image_relocation *r, void *arg), void *arg)
{
	struct dynamic d = { 0 };
	int stop;

	read_dynamic(im, &d);
	stop = each_in_table(im, &d, d.rela, d.relasz, fn, arg);
	return stop ? stop : each_in_table(im, &d, d.jmprel, d.jmprelsz, fn, arg);
}

bool
image_has_other_relocations(const struct image *im)
{
	struct dynamic d = { 0 };

	read_dynamic(im, &d);
	return d.has_other_relocations;
}

void
image_initialisers(const struct image *im, raddr *ret, size_t *ret_nr)
{
	struct dynamic d = { 0 };

	read_dynamic(im, &d);
	*ret = (raddr){ d.init_array + im->bias };
	*ret_nr = d.init_array ? d.init_arraysz / sizeof(uint64_t) : 0;
}

/* ---- pointers ---- */

struct pointer_walk {
	uint64_t bias;
	int (*fn)(raddr at, raddr to, void *arg);
	void *arg;
};

/* Relocations without a symbol refer to the object itself. */
static int
note_pointer(const struct image_relocation *r, void *arg)
{
	const struct pointer_walk *w = arg;

	return r->has_symbol ? 0 : w->fn(r->at, (raddr){ (uint64_t)r->addend + w->bias }, w->arg);
}

/*
 * Walk words that have their final values already: in position-dependent programs, and for REL and
 * RELR.
 */
static int
each_word(const struct image *im, const Elf64_Phdr *p, int (*fn)(raddr at, raddr to, void *arg),
	void *arg)
{
	size_t word = im->file->class == ELFCLASS64 ? sizeof(uint64_t) : sizeof(uint32_t);
	raddr start = { p->p_vaddr + im->bias }, first, end;
	const unsigned char *bytes = image_initial(im, start, p->p_filesz);
	int stop;

	image_extent(im, &first, &end);
	for (uint64_t at = 0; bytes && at + word <= p->p_filesz; at += word) {
		uint64_t value = 0;

		memcpy(&value, bytes + at, word); /* little-endian */
		value += im->bias;
		if (raddr_in((raddr){ value }, first, end) &&
			(stop = fn(raddr_add(start, at), (raddr){ value }, arg)))
			return stop;
	}
	return 0;
}

int
image_each_pointer(const struct image *im, int (*fn)(raddr at, raddr to, void *arg), void *arg)
{
	struct pointer_walk w = { im->bias, fn, arg };
	int stop = image_each_relocation(im, note_pointer, &w);

	for (size_t i = 0; i < im->file->nr_phdrs && !stop; i++)
		if (im->file->phdr[i].p_type == PT_LOAD && im->file->phdr[i].p_flags & PF_W)
			stop = each_word(im, &im->file->phdr[i], fn, arg);
	return stop;
}

/* ---- references ---- */

struct reference_walk {
	int (*fn)(const char *name, uint32_t type, raddr at, void *arg);
	void *arg;
};

static int
note_reference(const struct image_relocation *r, void *arg)
{
	const struct reference_walk *w = arg;

	return r->name && !r->is_local ? w->fn(r->name, r->type, r->at, w->arg) : 0;
}

int
image_each_reference(const struct image *im,
	int (*fn)(const char *name, uint32_t type, raddr at, void *arg), void *arg)
{
	struct reference_walk w = { fn, arg };

	return im->file->class == ELFCLASS64 ? image_each_relocation(im, note_reference, &w) : 0;
}
