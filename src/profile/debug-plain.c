/*
 * libdw unpacks all sections of debug information by zlib before it names the first function: 10 MB
 * for libc, which took most of the time of 'memdiag stacks'.  So it gets a copy in memory.  There,
 * sections that names and lines do not need, such as locations of variables and macros, are empty;
 * the others are unpacked by libdeflate, if it is available, which is faster than zlib.
 */
#include <config.h>

#include "profile/debug-plain.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include "base/cleanup.h"
#include "os/ceiling.h"

/* A file and its copy, which has all parts at their offsets, and then the unpacked sections. */
struct debug_plain {
	Elf *elf;
	const char *from;
	size_t from_bytes;
	char *to;
	uint64_t to_bytes, used_bytes;
	Elf64_Shdr *shdr; /* in the copy */
};

static uint64_t
debug_plain_align(uint64_t bytes)
{
	return (bytes + 15) & ~UINT64_C(15);
}

/* ---- sections ---- */

static bool
is_unneeded(const char *name)
{
	static const char *const unneeded[] = { ".debug_loc", ".debug_loclists", ".debug_macro",
		".debug_macinfo", ".debug_frame", ".debug_names", ".debug_pubnames",
		".debug_pubtypes", ".debug_gnu_pubnames", ".debug_gnu_pubtypes" };

	for (size_t i = 0; name && i < sizeof unneeded / sizeof *unneeded; i++)
		if (strcmp(name, unneeded[i]) == 0)
			return true;
	return false;
}

/* Return whether SECTION, whose header is H, is compressed by zlib. */
static bool
is_packed(Elf_Scn *section, const Elf64_Shdr *h, Elf64_Chdr *ret)
{
	GElf_Chdr chdr;

	if (!(h->sh_flags & SHF_COMPRESSED) || h->sh_size < sizeof *ret ||
		!gelf_getchdr(section, &chdr) || chdr.ch_type != ELFCOMPRESS_ZLIB)
		return false;
	*ret = chdr;
	return true;
}

static const char *
debug_plain_name(Elf *elf, const Elf64_Shdr *h)
{
	size_t strings;

	return elf_getshdrstrndx(elf, &strings) == 0 ? elf_strptr(elf, strings, h->sh_name) : NULL;
}

/* Unpack NR bytes at FROM to exactly SIZE bytes at TO. */
static bool
unpack(const char *from, size_t nr, char *to, size_t size)
{
#ifdef HAVE_LIBDEFLATE
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	const bool is_done =
		d && libdeflate_zlib_decompress(d, from, nr, to, size, NULL) == LIBDEFLATE_SUCCESS;

	libdeflate_free_decompressor(d);
	return is_done;
#else
	uLongf got = size;

	return uncompress((Bytef *)to, &got, (const Bytef *)from, nr) == Z_OK && got == size;
#endif
}

/* ---- the copy ---- */

static bool
is_within(const struct debug_plain *p, uint64_t offset, uint64_t bytes)
{
	return offset <= p->from_bytes && bytes <= p->from_bytes - offset;
}

/* Copy the part of the file at OFFSET to the same place.  False if the file does not have it. */
static bool
copy_part(const struct debug_plain *p, uint64_t offset, uint64_t bytes)
{
	if (!is_within(p, offset, bytes))
		return false;
	memcpy(p->to + offset, p->from + offset, bytes);
	return true;
}

static bool
copy_section(struct debug_plain *p, Elf_Scn *section)
{
	const Elf64_Shdr *from = elf64_getshdr(section);
	Elf64_Shdr *h = &p->shdr[elf_ndxscn(section)];
	Elf64_Chdr packed;

	if (!from || from->sh_type == SHT_NOBITS || from->sh_type == SHT_NULL)
		return from != NULL;
	if (!is_packed(section, from, &packed))
		return copy_part(p, from->sh_offset, from->sh_size);
	h->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	h->sh_offset = p->used_bytes;
	h->sh_size = packed.ch_size;
	h->sh_addralign = packed.ch_addralign;
	if (is_unneeded(debug_plain_name(p->elf, from))) {
		h->sh_type = SHT_NOBITS;
		return true;
	}
	p->used_bytes += debug_plain_align(packed.ch_size);
	return is_within(p, from->sh_offset, from->sh_size) && p->used_bytes <= p->to_bytes &&
		unpack(p->from + from->sh_offset + sizeof packed, from->sh_size - sizeof packed,
			p->to + h->sh_offset, packed.ch_size);
}

/* Fill the copy.  False if the file is damaged. */
static bool
debug_plain_copy(struct debug_plain *p, const Elf64_Ehdr *ehdr)
{
	size_t nr;

	if (elf_getshdrnum(p->elf, &nr) < 0 || ehdr->e_shentsize != sizeof *p->shdr ||
		ehdr->e_shoff % sizeof(uint64_t) || !copy_part(p, 0, sizeof *ehdr) ||
		!copy_part(p, ehdr->e_phoff, (uint64_t)ehdr->e_phnum * ehdr->e_phentsize) ||
		!copy_part(p, ehdr->e_shoff, nr * sizeof *p->shdr))
		return false;
	p->shdr = (void *)(p->to + ehdr->e_shoff);
	p->used_bytes = debug_plain_align(p->from_bytes);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(p->elf, section));)
		if (!copy_section(p, section))
			return false;
	return true;
}

/* Return the size of the copy; 0 if the file has no section to unpack. */
static uint64_t
size_of_copy(const struct debug_plain *p)
{
	uint64_t bytes = 0;

	for (Elf_Scn *section = NULL; (section = elf_nextscn(p->elf, section));) {
		const Elf64_Shdr *h = elf64_getshdr(section);
		Elf64_Chdr packed;

		if (!h || !is_packed(section, h, &packed) ||
			is_unneeded(debug_plain_name(p->elf, h)))
			continue;
		if (packed.ch_size > INT64_MAX / 2 - bytes)
			return 0;
		bytes += debug_plain_align(packed.ch_size);
	}
	return bytes ? debug_plain_align(p->from_bytes) + bytes : 0;
}

/* Return a descriptor of the copy, or -1. */
static int
debug_plain_make(struct debug_plain *p, const Elf64_Ehdr *ehdr)
{
	auto_fd int fd = -1;
	bool is_done;
	int ret;

	p->to_bytes = size_of_copy(p);
	if (!p->to_bytes || p->to_bytes > os_memory_left() || !os_take_memory(p->to_bytes))
		return -1;
	fd = memfd_create("memdiag-plain", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)p->to_bytes) < 0)
		return -1;
	p->to = mmap(NULL, p->to_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p->to == MAP_FAILED)
		return -1;
	is_done = debug_plain_copy(p, ehdr);
	munmap(p->to, p->to_bytes);
	ret = is_done ? fd : -1;
	if (is_done)
		fd = -1;
	return ret;
}

int
debug_plain(int fd)
{
	const unsigned char order =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	const int old_errno = errno;
	struct debug_plain p = { .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL) };
	const Elf64_Ehdr *ehdr = p.elf ? elf64_getehdr(p.elf) : NULL;
	int copy = -1;

	p.from = ehdr ? elf_rawfile(p.elf, &p.from_bytes) : NULL;
	if (p.from && ehdr->e_ident[EI_DATA] == order)
		copy = debug_plain_make(&p, ehdr);
	elf_end(p.elf);
	errno = old_errno;
	if (copy < 0)
		return fd;
	close(fd);
	return copy;
}
