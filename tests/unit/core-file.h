/*
 * core-file: core files made by a test, laid out as the kernel does it: header, program headers,
 * notes, then memory from a page on, with holes for pages that are not there.
 */
#ifndef MEMDIAG_TESTS_CORE_FILE_H
#define MEMDIAG_TESTS_CORE_FILE_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORE_PAGE 4096
#define CORE_MAX_SEGMENTS 32
#define CORE_MAX_NOTES 16384

/* As NT_FILE has it; OFFSET in pages. */
struct core_file_note {
	uint64_t start, end, offset;
	const char *path;
};

struct core_maker {
	int class, machine;
	struct core_maker_segment {
		uint64_t start, bytes, data_bytes;
		uint32_t flags;
		const char *data;  /* NULL: nothing but holes */
		const char *pages; /* "d.d": which pages of DATA are written; NULL: all */
	} segment[CORE_MAX_SEGMENTS];
	size_t nr_segments;
	char notes[CORE_MAX_NOTES];
	size_t notes_bytes;
	uint64_t memory_offset; /* where memory begins in the file; 0: behind the notes */
	bool has_notes_last;	/* as gcore does it */
};

#define CORE_MAKER                                                                                 \
	{                                                                                          \
		.class = ELFCLASS64, .machine = EM_X86_64                                          \
	}

static inline void
core_add_note(struct core_maker *m, const char *name, uint32_t type, const void *desc, size_t bytes)
{
	Elf64_Nhdr h = { (uint32_t)strlen(name) + 1, (uint32_t)bytes, type };
	size_t at = m->notes_bytes;

	memcpy(m->notes + at, &h, sizeof h);
	at += sizeof h;
	memcpy(m->notes + at, name, h.n_namesz);
	at += (h.n_namesz + 3) & ~3u;
	memcpy(m->notes + at, desc, bytes);
	m->notes_bytes = at + ((bytes + 3) & ~(size_t)3);
}

static inline void
core_put(char *at, uint64_t value, size_t bytes)
{
	memcpy(at, &value, bytes);
}

/* A thread, by the offsets of the machine (linux/elfcore.h). */
static inline void
core_add_thread(struct core_maker *m, pid_t tid, int signal, uint64_t sp, uint64_t pointer)
{
	char status[392] = "";
	bool is_64 = m->class == ELFCLASS64, is_arm = m->machine == EM_AARCH64;

	core_put(status + 12, (uint64_t)signal, 2);
	core_put(status + (is_64 ? 32 : 24), (uint64_t)tid, 4);
	core_put(status + (is_arm ? 360 : is_64 ? 264 : 132), sp, is_64 ? 8 : 4);
	core_put(status + (is_arm ? 368 : is_64 ? 240 : 120), 0x401000, is_64 ? 8 : 4);
	if (is_64 && !is_arm)
		core_put(status + 280, pointer, 8);
	core_add_note(m, "CORE", NT_PRSTATUS, status, is_arm ? 392 : is_64 ? 336 : 144);
	if (is_arm)
		core_add_note(m, "LINUX", NT_ARM_TLS, &pointer, sizeof pointer);
}

static inline void
core_add_process(struct core_maker *m, pid_t pid, const char *name)
{
	bool is_64 = m->class == ELFCLASS64;
	char info[136] = "";

	core_put(info + (is_64 ? 16 : 8), 1000, 2);
	core_put(info + (is_64 ? 24 : 12), (uint64_t)pid, 4);
	core_put(info + (is_64 ? 28 : 16), 1, 4);
	strncpy(info + (is_64 ? 40 : 28), name, 16);
	core_add_note(m, "CORE", NT_PRPSINFO, info, is_64 ? 136 : 124);
}

static inline void
core_add_files(struct core_maker *m, const struct core_file_note *files, size_t nr)
{
	size_t w = m->class == ELFCLASS64 ? 8 : 4, at = 0;
	char desc[4096];

	core_put(desc, nr, w);
	core_put(desc + w, CORE_PAGE, w);
	at = 2 * w;
	for (size_t i = 0; i < nr; i++, at += 3 * w) {
		core_put(desc + at, files[i].start, w);
		core_put(desc + at + w, files[i].end, w);
		core_put(desc + at + 2 * w, files[i].offset, w);
	}
	for (size_t i = 0; i < nr; i++)
		at = (size_t)(stpcpy(desc + at, files[i].path) + 1 - desc);
	core_add_note(m, "CORE", NT_FILE, desc, at);
}

static inline void
core_add_segment(struct core_maker *m, uint64_t start, uint64_t bytes, uint32_t flags,
	const char *data, uint64_t data_bytes, const char *pages)
{
	m->segment[m->nr_segments++] =
		(struct core_maker_segment){ start, bytes, data_bytes, flags, data, pages };
}

static inline size_t
core_write_header(const struct core_maker *m, int fd)
{
	size_t nr = m->nr_segments + 1;
	Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				 EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = (Elf64_Half)m->machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof h,
		.e_phoff = sizeof h,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)nr };
	Elf32_Ehdr h32 = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				   EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = (Elf32_Half)m->machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof h32,
		.e_phoff = sizeof h32,
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = (Elf32_Half)nr };

	if (m->class == ELFCLASS64)
		return (size_t)pwrite(fd, &h, sizeof h, 0);
	return (size_t)pwrite(fd, &h32, sizeof h32, 0);
}

static inline size_t
core_write_phdr(const struct core_maker *m, int fd, size_t at, const Elf64_Phdr *p)
{
	Elf32_Phdr p32 = { p->p_type, (Elf32_Off)p->p_offset, (Elf32_Addr)p->p_vaddr, 0,
		(Elf32_Word)p->p_filesz, (Elf32_Word)p->p_memsz, p->p_flags,
		(Elf32_Word)p->p_align };

	if (m->class == ELFCLASS64)
		return at + (size_t)pwrite(fd, p, sizeof *p, (off_t)at);
	return at + (size_t)pwrite(fd, &p32, sizeof p32, (off_t)at);
}

/* Write it to PATH.  With FILL there is no hole: zeroes are written.  Returns the file's size. */
static inline uint64_t
core_write(const struct core_maker *m, const char *path, bool fill)
{
	static const char zeroes[CORE_PAGE];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	size_t at = core_write_header(m, fd);
	size_t notes = at +
		(m->nr_segments + 1) *
			(m->class == ELFCLASS64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	uint64_t offset = m->memory_offset
		? m->memory_offset
		: (notes + m->notes_bytes + CORE_PAGE - 1) / CORE_PAGE * CORE_PAGE;

	if (m->has_notes_last) {
		offset = CORE_PAGE;
		for (size_t i = 0; i < m->nr_segments; i++)
			offset += m->segment[i].data_bytes;
		notes = offset;
		offset = CORE_PAGE;
	}
	at = core_write_phdr(m, fd, at,
		&(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = notes, .p_filesz = m->notes_bytes });
	if (fd < 0 || pwrite(fd, m->notes, m->notes_bytes, (off_t)notes) < 0)
		abort();
	for (size_t i = 0; i < m->nr_segments; i++) {
		const struct core_maker_segment *s = &m->segment[i];

		at = core_write_phdr(m, fd, at,
			&(Elf64_Phdr){ .p_type = PT_LOAD,
				.p_offset = offset,
				.p_vaddr = s->start,
				.p_filesz = s->data_bytes,
				.p_memsz = s->bytes,
				.p_flags = s->flags,
				.p_align = CORE_PAGE });
		for (uint64_t k = 0; k < s->data_bytes; k += CORE_PAGE) {
			bool is_there = s->data && (!s->pages || s->pages[k / CORE_PAGE] == 'd');
			const char *page = is_there ? s->data + k : zeroes;

			if ((is_there || fill) &&
				pwrite(fd, page, CORE_PAGE, (off_t)(offset + k)) != CORE_PAGE)
				abort();
		}
		offset += s->data_bytes;
	}
	if (!m->has_notes_last && ftruncate(fd, (off_t)offset) < 0)
		abort();
	close(fd);
	return offset;
}

#endif
