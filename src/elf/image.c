#include <config.h>

#include "elf/image.h"

#include "base/cleanup.h"
#include "elf/contents.h"
#include "elf/image-priv.h"
#include "elf/regions.h"
#include "os/mapping.h"
#include "os/memory.h"
#include "os/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Maximum size of an object's file; a header with a larger size is damaged. */
#define IMAGE_MAX_BYTES (UINT64_C(8) << 30)
#define MAX_PHDRS 256
#define MAX_SECTIONS 1000000
/* The ELF header, and the program headers of most objects. */
#define HEAD_BYTES 4096

/* ---- bytes ---- */

static const Elf64_Phdr *
load_holding(const struct image *im, uint64_t vaddr)
{
	for (size_t i = 0; i < im->file->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->file->phdr[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

/*
 * Read memory of the target.  Reading a page of a file on a disk costs the target nothing: the page
 * is in the page cache, or comes into it.  A page of a file in memory may be a hole, which a read
 * would fill.
 */
static int
read_memory(const struct image *im, raddr from, void *to, size_t size, struct err *e)
{
	return im->has_holes ? os_read_present(im->target, from, to, size, e)
			     : os_read(im->target, from, to, size, e);
}

/*
 * Make sure that the SIZE bytes at OFFSET of the contents, which are mapped at FROM, are read.  0,
 * or -1.
 */
static int
image_fill(const struct image *im, raddr from, uint64_t offset, size_t size)
{
	struct err e;

	return im->file->fd >= 0
		? contents_read(im->file->contents, im->file->fd, offset, size)
		: read_memory(im, from, contents_at(im->file->contents, offset), size, &e);
}

Elf_Data *
image_data(const struct image *im, uint64_t vaddr, uint64_t size, Elf_Type type)
{
	const Elf64_Phdr *p = load_holding(im, vaddr);
	uint64_t offset;

	if (!p || !size || size > p->p_filesz - (vaddr - p->p_vaddr))
		return NULL;
	offset = p->p_offset + (vaddr - p->p_vaddr);
	if (offset + size > im->file->size_bytes)
		return NULL;
	if (image_fill(im, (raddr){ vaddr + im->bias }, offset, size) < 0)
		return NULL;
	return elf_getdata_rawchunk(im->file->elf, (int64_t)offset, size, type);
}

/*
 * Return the offset in the file of the SIZE bytes at AT, in a segment without FORBIDDEN flags; -1
 * if not found.
 */
static int64_t
file_offset(const struct image *im, raddr at, size_t size, uint32_t forbidden)
{
	uint64_t vaddr = at.v - im->bias, offset;
	const Elf64_Phdr *p = load_holding(im, vaddr);

	if (!p || p->p_flags & forbidden || size > p->p_filesz - (vaddr - p->p_vaddr))
		return -1;
	offset = p->p_offset + (vaddr - p->p_vaddr);
	return offset + size > im->file->size_bytes ? -1 : (int64_t)offset;
}

const unsigned char *
image_bytes(const struct image *im, raddr at, size_t size)
{
	const int64_t offset = file_offset(im, at, size, PF_W);

	return offset >= 0 && image_fill(im, at, (uint64_t)offset, size) == 0
		? (const unsigned char *)contents_at(im->file->contents, (uint64_t)offset)
		: NULL;
}

int
image_read(const struct image *im, raddr at, void *buf, size_t size)
{
	int64_t offset = file_offset(im, at, size, PF_W);
	struct err e;

	if (offset < 0)
		return -1;
	if (im->file->fd < 0)
		return os_read(im->target, at, buf, size, &e);
	return pread(im->file->fd, buf, size, offset) == (ssize_t)size ? 0 : -1;
}

const unsigned char *
image_initial(const struct image *im, raddr at, size_t size)
{
	const int64_t offset = im->file->fd < 0 ? -1 : file_offset(im, at, size, 0);

	return offset >= 0 && image_fill(im, at, (uint64_t)offset, size) == 0
		? (const unsigned char *)contents_at(im->file->contents, (uint64_t)offset)
		: NULL;
}

/* ---- opening ---- */

static int
read_phdrs(struct image_file *f, struct err *e)
{
	GElf_Ehdr ehdr;
	size_t nr;

	if (!gelf_getehdr(f->elf, &ehdr) || elf_getphdrnum(f->elf, &nr) < 0 || !nr ||
		nr > MAX_PHDRS)
		return err_set(e, ENOEXEC, "no usable ELF header");
	f->class = ehdr.e_ident[EI_CLASS];
	f->machine = ehdr.e_machine;
	f->phdr = calloc(nr, sizeof *f->phdr);
	if (!f->phdr)
		return err_set(e, ENOMEM, "cannot read program headers");
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(f->elf, (int)i, &p))
			return err_set(e, ENOEXEC, "unreadable program headers");
		f->phdr[i] = p;
	}
	f->nr_phdrs = nr;
	return 0;
}

/* Read the tables of headers, using the first N bytes of the file, which were read before. */
static int
image_read_headers(struct image_file *f, size_t n)
{
	Elf *elf = elf_memory(contents_at(f->contents, 0), n);
	uint64_t phdrs, shdrs;
	GElf_Ehdr h;

	if (!elf || !gelf_getehdr(elf, &h)) {
		elf_end(elf);
		return -1;
	}
	elf_end(elf);
	phdrs = (uint64_t)h.e_phnum * h.e_phentsize;
	/* If the number is 0, the first section header has it. */
	shdrs = (uint64_t)(h.e_shnum ? h.e_shnum : MAX_SECTIONS) * h.e_shentsize;
	if (h.e_shoff < f->size_bytes && shdrs > f->size_bytes - h.e_shoff)
		shdrs = f->size_bytes - h.e_shoff;
	/* Without sections, which may have been cut off, the rest is still useful. */
	if (h.e_shoff)
		contents_read(f->contents, f->fd, h.e_shoff, shdrs);
	return contents_read(f->contents, f->fd, h.e_phoff, phdrs);
}

/* Read the headers of F, whose descriptor and size are set. */
static int
image_file_read(struct image_file *f, struct err *e)
{
	size_t n;

	if (f->size_bytes < sizeof(Elf32_Ehdr) || f->size_bytes > IMAGE_MAX_BYTES)
		return err_set(e, ENOEXEC, "not an ELF file");
	f->contents = contents_new(f->size_bytes, e);
	if (!f->contents)
		return -1;
	n = f->size_bytes < HEAD_BYTES ? f->size_bytes : HEAD_BYTES;
	if (contents_read(f->contents, f->fd, 0, n) < 0 ||
		memcmp(contents_at(f->contents, 0), ELFMAG, SELFMAG) != 0 ||
		image_read_headers(f, n) < 0)
		return err_set(e, ENOEXEC, "not an ELF file");
	f->elf = elf_memory(contents_at(f->contents, 0), f->size_bytes);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return err_set(e, ENOEXEC, "not an ELF file");
	return read_phdrs(f, e);
}

bool
image_has_section(const struct image *im, Elf_Scn *section)
{
	GElf_Shdr h;

	return im->file->fd >= 0 && section && gelf_getshdr(section, &h) &&
		(h.sh_type == SHT_NOBITS ||
			contents_read(im->file->contents, im->file->fd, h.sh_offset, h.sh_size) ==
				0);
}

/* ---- files ---- */

static struct image_file *
image_file_new(struct err *e)
{
	struct image_file *f = calloc(1, sizeof *f);

	if (!f || !(f->tables = calloc(1, sizeof *f->tables))) {
		free(f);
		err_set(e, ENOMEM, "cannot open an object");
		return NULL;
	}
	elf_version(EV_CURRENT);
	f->nr_owners = 1;
	f->fd = -1;
	return f;
}

/* Give up F, which may be NULL; its last owner frees it. */
static void
image_file_release(struct image_file *f)
{
	if (!f || --f->nr_owners)
		return;
	if (f->list) {
		struct image_file **at = &f->list->first;

		while (*at != f)
			at = &(*at)->next;
		*at = f->next;
	}
	elf_end(f->elf);
	cleanup_fd(&f->fd);
	contents_free(f->contents);
	free(f->phdr);
	free(f->tables);
	free(f);
}

static struct image_file_id
image_file_id_of(const struct stat *st)
{
	return (struct image_file_id){
		.dev = st->st_dev,
		.inode = st->st_ino,
		.size_bytes = (uint64_t)st->st_size,
		.modified = st->st_mtim,
		.changed = st->st_ctim,
	};
}

static bool
image_file_has_id(const struct image_file *f, const struct image_file_id *id)
{
	return f->id.dev == id->dev && f->id.inode == id->inode &&
		f->id.size_bytes == id->size_bytes &&
		f->id.modified.tv_sec == id->modified.tv_sec &&
		f->id.modified.tv_nsec == id->modified.tv_nsec &&
		f->id.changed.tv_sec == id->changed.tv_sec &&
		f->id.changed.tv_nsec == id->changed.tv_nsec;
}

/*
 * Return the file FD, which the last owner closes, also on failure: NULL with E.  With LIST it is
 * the one in LIST, or gets there.
 */
static struct image_file *
image_file_open(int fd, struct image_files *list, struct err *e)
{
	struct image_file *f = list ? list->first : NULL;
	struct image_file_id id;
	struct stat st;

	if (fstat(fd, &st) < 0) {
		close(fd);
		err_set(e, errno, "cannot examine the mapped file");
		return NULL;
	}
	id = image_file_id_of(&st);
	while (f && !image_file_has_id(f, &id))
		f = f->next;
	if (f) {
		close(fd);
		f->nr_owners++;
		return f;
	}
	f = image_file_new(e);
	if (!f) {
		close(fd);
		return NULL;
	}
	f->fd = fd;
	f->size_bytes = (size_t)st.st_size;
	if (image_file_read(f, e) < 0) {
		image_file_release(f);
		return NULL;
	}
	f->id = id;
	if (list) {
		f->list = list;
		f->next = list->first;
		list->first = f;
	}
	return f;
}

/* ---- objects ---- */

/* Get the minimum size of the file from the program headers found in memory. */
static int
file_extent(const struct image_file *f, uint64_t *ret_size, struct err *e)
{
	uint64_t size = 0;

	for (size_t i = 0; i < f->nr_phdrs; i++) {
		const Elf64_Phdr *p = &f->phdr[i];

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
 * Read an object from memory.  Most files that are mapped at their beginning and executable are not
 * objects, so the first page of a file is read only if the target has it.  The headers come first,
 * to learn the size; then they are put into a sparse copy of that size, to which image_data() adds
 * the tables that are needed.
 */
static int
open_memory(struct image *im, raddr base, const char *path, struct err *e)
{
	char head[HEAD_BYTES];
	uint64_t size = 0;
	ssize_t n = (path ? os_read_present_some : os_read_some)(
		im->target, base, head, sizeof head, e);

	if (n < 0)
		return -1;
	if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return err_set(e, ENOEXEC, "no ELF header at " PRIraddr, base.v);
	im->file->elf = elf_memory(head, (size_t)n);
	if (!im->file->elf || read_phdrs(im->file, e) < 0 || file_extent(im->file, &size, e) < 0)
		return err_set(e, ENOEXEC, "no usable ELF header at " PRIraddr, base.v);
	elf_end(im->file->elf);
	if (size < (uint64_t)n)
		n = (ssize_t)size;
	im->file->elf = NULL;
	im->file->size_bytes = size;
	im->file->contents = contents_new(size, e);
	if (!im->file->contents)
		return -1;
	memcpy(contents_at(im->file->contents, 0), head, (size_t)n);
	im->file->elf = elf_memory(contents_at(im->file->contents, 0), size);
	if (!im->file->elf)
		return err_set(e, ENOEXEC, "no usable ELF header at " PRIraddr, base.v);
	return 0;
}

/* Compute the bias from the segment that contains the header, which is mapped at BASE. */
static void
find_bias(struct image *im, raddr base)
{
	for (size_t i = 0; i < im->file->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->file->phdr[i];

		if (p->p_type == PT_LOAD) { /* the first one is the lowest (ELF gABI) */
			im->bias = base.v - (p->p_vaddr - p->p_offset);
			return;
		}
	}
}

/* Return an object of FILE, which it takes over; NULL with E, which is set if FILE is NULL. */
static struct image *
image_new(struct image_file *file, struct err *e)
{
	struct image *im;

	if (!file)
		return NULL;
	im = calloc(1, sizeof *im);
	if (!im) {
		image_file_release(file);
		err_set(e, ENOMEM, "cannot open an object");
		return NULL;
	}
	im->nr_owners = 1;
	im->file = file;
	return im;
}

int
image_open(struct image **ret, const struct target *t, const struct region *r,
	struct image_files *files, struct err *e)
{
	const int fd = os_mapping_open(t, r->start, r->end, r->path, r->dev, r->inode);
	struct image *im =
		image_new(fd >= 0 ? image_file_open(fd, files, e) : image_file_new(e), e);

	if (!im)
		return -1;
	im->target = t;
	im->has_holes = r->path && !major(r->dev); /* without a path it is the vdso */
	if (fd < 0 && open_memory(im, r->start, r->path, e) < 0) {
		image_free(im);
		return -1;
	}
	find_bias(im, r->start);
	*ret = im;
	return 0;
}

int
image_open_fd(struct image **ret, int fd, struct err *e)
{
	*ret = image_new(image_file_open(fd, NULL, e), e);
	return *ret ? 0 : -1;
}

int
image_open_file(struct image **ret, const char *path, struct err *e)
{
	const int fd = os_open(path, OS_REGULAR, e);

	return fd < 0 ? -1 : image_open_fd(ret, fd, e);
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
	image_file_release(im->file);
	free(im);
}

/* ---- simple queries ---- */

bool
image_is_from_memory(const struct image *im)
{
	return im->file->fd < 0;
}

int
image_class(const struct image *im)
{
	return im->file->class;
}

int
image_machine(const struct image *im)
{
	return im->file->machine;
}

uint64_t
image_bias(const struct image *im)
{
	return im->bias;
}

size_t
image_nr_phdrs(const struct image *im)
{
	return im->file->nr_phdrs;
}

const Elf64_Phdr *
image_phdr(const struct image *im, size_t i)
{
	return &im->file->phdr[i];
}

void
image_extent(const struct image *im, raddr *ret_start, raddr *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < im->file->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->file->phdr[i];

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

const Elf64_Phdr *
image_phdr_of_type(const struct image *im, uint32_t type)
{
	for (size_t i = 0; i < im->file->nr_phdrs; i++)
		if (im->file->phdr[i].p_type == type)
			return &im->file->phdr[i];
	return NULL;
}

raddr
image_dynamic(const struct image *im)
{
	const Elf64_Phdr *p = image_phdr_of_type(im, PT_DYNAMIC);

	return (raddr){ p ? p->p_vaddr + im->bias : 0 };
}

/* ---- build-id ---- */

const char *
image_build_id(const struct image *im, char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < im->file->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->file->phdr[i];
		Elf_Data *data;
		GElf_Nhdr note;
		size_t at = 0, name, desc;

		if (p->p_type != PT_NOTE)
			continue;
		data = image_data(
			im, p->p_vaddr, p->p_filesz, p->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
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
