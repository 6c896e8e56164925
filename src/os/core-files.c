/*
 * The files that were mapped.  A core file contains only those of their pages that were written to,
 * and the first page of each ELF file, which has the build-id: this distinguishes the file from
 * another one of the same name.
 */
#include <config.h>

#include "os/core-files.h"

#include "base/debug.h"
#include "os/core-segments.h"
#include "os/stranger.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 4096

struct build_id {
	unsigned char v[64];
	size_t bytes; /* 0: no build-id */
};

static void
elf_cleanup(Elf **elf)
{
	elf_end(*elf);
}
#define auto_elf __attribute__((cleanup(elf_cleanup)))

static bool
take_build_id(Elf_Data *notes, struct build_id *ret)
{
	size_t at = 0, name, desc;
	GElf_Nhdr h;

	while ((at = gelf_getnote(notes, at, &h, &name, &desc)) > 0) {
		const char *base = notes->d_buf;

		if (h.n_type != NT_GNU_BUILD_ID || h.n_namesz != 4 ||
			memcmp(base + name, "GNU", 4) != 0 || h.n_descsz > sizeof ret->v)
			continue;
		memcpy(ret->v, base + desc, h.n_descsz);
		ret->bytes = h.n_descsz;
		return true;
	}
	return false;
}

/* Find the build-id through the program headers, in a file or in its first bytes. */
static struct build_id
core_files_build_id_of(Elf *elf)
{
	struct build_id id = { .bytes = 0 };
	size_t nr;

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr) < 0)
		return id;
	for (size_t i = 0; i < nr; i++) {
		Elf_Data *notes;
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_NOTE ||
			p.p_filesz > HEADER_BYTES)
			continue;
		notes = elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
			p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes && take_build_id(notes, &id))
			return id;
	}
	return id;
}

/* Return the beginning of F in the core file, as an ELF file; NULL if it is missing. */
static Elf *
header_in_core(const struct core *c, const struct core_file *f, char head[HEADER_BYTES])
{
	const struct core_segment *s = f->header.v ? core_segment_from(c, f->header) : NULL;
	ssize_t n = s && s->start.v <= f->header.v
		? core_read_segment(c, s, f->header, head, HEADER_BYTES)
		: 0;

	return n > 0 ? elf_memory(head, (size_t)n) : NULL;
}

/*
 * Return whether the file contains its code.  A file with debug information alone has the same
 * build-id, and often the same name; its code sections have no contents.
 */
static bool
has_code(Elf *elf)
{
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		GElf_Shdr h;

		if (gelf_getshdr(s, &h) && h.sh_flags & SHF_EXECINSTR && h.sh_type == SHT_NOBITS)
			return false;
	}
	return true;
}

/* Open the file PATH if it has the build-id ID; else return -1. */
static int
open_if_same(const char *path, const struct build_id *id)
{
	auto_elf Elf *elf = NULL;
	struct build_id found;
	const int fd = os_open_at(AT_FDCWD, path, OS_REGULAR);

	if (fd < 0)
		return -1;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	found = core_files_build_id_of(elf);
	if (found.bytes == id->bytes && memcmp(found.v, id->v, id->bytes) == 0 && has_code(elf))
		return fd;
	close(fd);
	return -1;
}

/* Print the name under which a file is stored by its build-id: "ab/cdef..." */
static void
name_by_id(const struct build_id *id, char *buf)
{
	for (size_t i = 0; i < id->bytes; i++)
		buf += sprintf(buf, i == 0 ? "%02x/" : "%02x", id->v[i]);
}

/*
 * Search the sysroot, as a root directory and as a flat directory of files; then the original path.
 */
static int
find_file(const struct core *c, const struct core_file *f, const struct build_id *id)
{
	char by_id[2 * sizeof id->v + 2];
	const char *base = strrchr(f->path, '/');
	const struct {
		const char *directory, *name;
	} tries[] = {
		{ c->sysroot, f->path },
		{ c->sysroot, base },
		{ c->sysroot, by_id },
		{ "", f->path },
		{ "/usr/lib/.build-id", by_id },
	};
	int fd = -1;

	name_by_id(id, by_id);
	for (size_t i = 0; base && fd < 0 && i < sizeof tries / sizeof *tries; i++) {
		char path[2 * PATH_MAX];

		if (tries[i].directory &&
			(size_t)snprintf(path, sizeof path, "%s/%s", tries[i].directory,
				tries[i].name) < sizeof path)
			fd = open_if_same(path, id);
	}
	return fd;
}

static void
core_files_open_file(const struct core *c, struct core_file *f)
{
	char head[HEADER_BYTES];
	auto_elf Elf *elf = header_in_core(c, f, head);
	struct build_id id = core_files_build_id_of(elf);
	char name[256];
	struct stat st;

	if (id.bytes)
		f->fd = find_file(c, f, &id);
	if (f->fd >= 0 && fstat(f->fd, &st) == 0)
		f->mapped_bytes = ((uint64_t)st.st_size + c->page_bytes - 1) & -c->page_bytes;
	else
		debug("%s: %s", text_printable(f->path, name, sizeof name),
			id.bytes ? "not found" : "the core file has no build-id of it");
}

const struct core_file *
core_file_of(const struct core *c, const struct core_mapping *m)
{
	struct core_file *f = &c->file.v[m->file];

	if (!f->is_tried) {
		f->is_tried = true;
		core_files_open_file(c, f);
	}
	return f->fd < 0 ? NULL : f;
}

unsigned int
core_mapping_flags(const struct core *c, const struct core_mapping *m)
{
	const struct core_file *f = &c->file.v[m->file];
	char head[HEADER_BYTES];
	auto_elf Elf *elf = header_in_core(c, f, head);
	/* if the first byte is at vaddr 0; else corrected below */
	uint64_t vaddr = m->start.v - f->header.v;
	bool has_base = false;
	GElf_Phdr p;

	for (int i = 0; elf && gelf_getphdr(elf, i, &p); i++) {
		if (p.p_type != PT_LOAD)
			continue;
		if (!has_base)
			vaddr += p.p_vaddr - p.p_offset;
		has_base = true;
		if (vaddr >= (p.p_vaddr & -c->page_bytes) && vaddr < p.p_vaddr + p.p_memsz)
			return p.p_flags & ~(unsigned int)PF_W;
	}
	return PF_R;
}
