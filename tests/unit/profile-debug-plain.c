/* Compressed debug information becomes plain: random files, and damaged ones. */
#include <config.h>

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "profile/debug-plain.h"
#include "seeds.h"

#define MOST_SECTIONS 12
#define MOST_BYTES 30000
#define FILE_BYTES (MOST_SECTIONS * (MOST_BYTES + 1000) + 4096)
#define OTHER_KIND 77 /* of compression */

enum { PLAIN, PACKED, PACKED_OTHERWISE };

static const struct {
	const char *name;
	bool is_needed;
} kinds[] = { { ".debug_info", true }, { ".debug_line", true }, { ".debug_loclists", false },
	{ ".debug_macro", false }, { ".debug_str", true }, { ".symtab", true }, { "", true } };

/* What a section must have. */
static struct {
	int how;
	bool is_needed;
	size_t size;
	char bytes[MOST_BYTES + 1000];
} wanted[MOST_SECTIONS];
static size_t nr_sections; /* with the first one, which is empty, and the names */

static struct {
	char v[FILE_BYTES];
	size_t nr;
} file;

static Elf64_Shdr header[MOST_SECTIONS];

static void
put_bytes(const void *bytes, size_t nr)
{
	memcpy(file.v + file.nr, bytes, nr);
	file.nr += nr;
}

/* Numbers that compress, as debug information does. */
static void
fill_in(char *bytes, size_t nr)
{
	const uint64_t range = 1 + some(256);

	for (size_t i = 0; i < nr; i++)
		bytes[i] = (char)some(range);
}

/* Put section NR, compressed or not, after a gap. */
static void
put_section(size_t nr)
{
	uLongf packed = MOST_BYTES + 1000;
	char bytes[MOST_BYTES + 1000];
	Elf64_Shdr *h = &header[nr];
	const Elf64_Chdr chdr = { .ch_type =
					  wanted[nr].how == PACKED ? ELFCOMPRESS_ZLIB : OTHER_KIND,
		.ch_size = wanted[nr].size,
		.ch_addralign = 1 };

	file.nr = (file.nr + 7 + some(3) * 8) & ~(size_t)7;
	h->sh_offset = file.nr;
	h->sh_addralign = 8;
	if (wanted[nr].how == PLAIN) {
		put_bytes(wanted[nr].bytes, wanted[nr].size);
	} else {
		h->sh_flags = SHF_COMPRESSED;
		put_bytes(&chdr, sizeof chdr);
		compress((Bytef *)bytes, &packed, (Bytef *)wanted[nr].bytes, wanted[nr].size);
		put_bytes(bytes, packed);
	}
	h->sh_size = file.nr - h->sh_offset;
	if (wanted[nr].how != PACKED_OTHERWISE)
		return;
	wanted[nr].size = h->sh_size;
	memcpy(wanted[nr].bytes, file.v + h->sh_offset, h->sh_size);
}

/* Make a file, and return whether there is anything to unpack. */
static bool
make_file(void)
{
	Elf64_Ehdr ehdr = { .e_ident = ELFMAG, .e_ehsize = sizeof ehdr, .e_type = ET_DYN };
	char names[200] = "";
	size_t names_bytes = 1;
	bool is_packed = false;

	nr_sections = 2 + some(MOST_SECTIONS - 1);
	memset(header, 0, sizeof header);
	memset(&file, 0, sizeof file);
	file.nr = sizeof ehdr;
	for (size_t i = 1; i < nr_sections; i++) {
		const size_t kind = some(sizeof kinds / sizeof *kinds);

		header[i].sh_name = (Elf64_Word)names_bytes;
		names_bytes += (size_t)sprintf(names + names_bytes, "%s", kinds[kind].name) + 1;
		header[i].sh_type = SHT_PROGBITS;
		wanted[i].is_needed = kinds[kind].is_needed;
		wanted[i].how = some(3) ? PACKED : some(2) ? PLAIN : PACKED_OTHERWISE;
		wanted[i].size = some(4) ? some(MOST_BYTES) : some(3);
		fill_in(wanted[i].bytes, wanted[i].size);
		if (i + 1 < nr_sections) {
			is_packed |=
				wanted[i].how == PACKED && wanted[i].is_needed && wanted[i].size;
			put_section(i);
			continue;
		}
		header[i].sh_type = SHT_STRTAB;
		wanted[i].how = PLAIN;
		wanted[i].size = names_bytes;
		memcpy(wanted[i].bytes, names, names_bytes);
		put_section(i);
	}
	file.nr = (file.nr + 7) & ~(size_t)7;
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	ehdr.e_version = EV_CURRENT;
	ehdr.e_shoff = file.nr;
	ehdr.e_shentsize = sizeof *header;
	ehdr.e_shnum = (Elf64_Half)nr_sections;
	ehdr.e_shstrndx = (Elf64_Half)(nr_sections - 1);
	memcpy(file.v, &ehdr, sizeof ehdr);
	put_bytes(header, nr_sections * sizeof *header);
	return is_packed;
}

static int
file_in_memory(void)
{
	const int fd = memfd_create("file", MFD_CLOEXEC);

	return fd >= 0 && write(fd, file.v, file.nr) == (ssize_t)file.nr ? fd : -1;
}

/* Return whether section NR is in the copy what it must be. */
static bool
is_section_right(Elf *elf, size_t nr)
{
	Elf_Scn *section = elf_getscn(elf, nr);
	const Elf64_Shdr *h = section ? elf64_getshdr(section) : NULL;
	Elf_Data *data;

	if (!h || !h->sh_flags != (wanted[nr].how != PACKED_OTHERWISE))
		return FAIL("section %zu: %s", nr, h ? "its flags are wrong" : "missing");
	if (wanted[nr].how == PACKED && !wanted[nr].is_needed)
		return h->sh_type == SHT_NOBITS || FAIL("section %zu is not empty", nr);
	data = elf_rawdata(section, NULL);
	return (h->sh_type != SHT_NOBITS && h->sh_size == wanted[nr].size && data &&
		       (!h->sh_size || memcmp(data->d_buf, wanted[nr].bytes, h->sh_size) == 0)) ||
		FAIL("section %zu has other contents", nr);
}

static bool
sections_are_plain(void)
{
	const bool is_packed = make_file();
	const int given = file_in_memory();
	auto_fd int fd = debug_plain(given);
	bool is_right = true;
	Elf *elf;

	if (!is_packed)
		return (fd == given && lseek(fd, 0, SEEK_END) == (off_t)file.nr) ||
			FAIL("a file without anything to unpack was copied");
	if (fd == given)
		return FAIL("nothing was unpacked");
	if (fcntl(given, F_GETFD) >= 0)
		return FAIL("the file is still open");
	elf = elf_begin(fd, ELF_C_READ, NULL);
	for (size_t i = 1; i < nr_sections && is_right; i++)
		is_right = is_section_right(elf, i);
	elf_end(elf);
	return is_right;
}

/* A damaged file is given back, or copied as far as it can be read. */
static bool
damage_does_no_more(void)
{
	int given;

	make_file();
	for (uint64_t i = 0, nr = 1 + some(20); i < nr; i++) {
		const size_t at = some(2) ? some(file.nr) : file.nr - 1 - some(nr_sections * 64);

		file.v[at] = (char)some(256);
	}
	if (some(2))
		file.nr = 1 + some(file.nr);
	given = file_in_memory();
	close(debug_plain(given));
	return fcntl(given, F_GETFD) < 0 || FAIL("a descriptor is left");
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 500);

	elf_version(EV_CURRENT);
	seeds_try(s, sections_are_plain, "needed sections are plain, and the others are empty");
	seeds_try(s, damage_does_no_more, "damaged files are no problem");
	return tap_end();
}
