/*
 * A core file as a target: its contents.  The kernel (fs/binfmt_elf.c, elf_core_dump()) and gdb's
 * gcore write
 *
 *	ELF header, program headers
 *	PT_NOTE		a NT_PRSTATUS for each thread, NT_PRPSINFO, NT_AUXV, NT_FILE ...
 *	PT_LOAD ...	one for each mapping; p_filesz is less than p_memsz where data is left out
 *
 * Trust nothing in the file: it may be cut off, damaged, or malicious.
 */
#include <config.h>

#include "os/core.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "os/core-files.h"
#include "os/core-priv.h"
#include "os/core-proc-priv.h"
#include "os/core-segments.h"
#include "os/os-priv.h"
#include "os/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 60,000 threads have 200 MB of notes. */
#define NOTES_MAX_BYTES (UINT64_C(1) << 30)

/*
 * The offsets of the used members of struct elf_prstatus and elf_prpsinfo, for a machine
 * (linux/elfcore.h).
 */
struct core_machine {
	int machine, class;
	const char *name;
	struct {
		unsigned int bytes, signal, tid, sp, pc;
		unsigned int pointer; /* 0: in a separate note, or missing */
	} status;
	struct {
		unsigned int uid, pid, ppid, name;
	} info;
	bool has_short_uid;
};

#define COMM_BYTES 16

static const struct core_machine machines[] = {
	{ EM_X86_64, ELFCLASS64, "x86-64", { 336, 12, 32, 264, 240, 280 }, { 16, 24, 28, 40 },
		false },
	{ EM_AARCH64, ELFCLASS64, "aarch64", { 392, 12, 32, 360, 368, 0 }, { 16, 24, 28, 40 },
		false },
	{ EM_386, ELFCLASS32, "i386", { 144, 12, 24, 132, 120, 0 }, { 8, 12, 16, 28 }, true },
};

/* ---- check that it is a core file ---- */

/* Compressed formats with these first bytes, for a hint. */
static int
not_a_core(const struct core *c, struct err *e)
{
	static const struct {
		const char *magic, *unpack;
	} packed[] = {
		{ "\x28\xb5\x2f\xfd", "zstd -d" },
		{ "\xfd"
		  "7zXZ",
			"xz -d" },
		{ "\x1f\x8b", "gzip -d" },
		{ "\x04\x22\x4d\x18", "lz4 -d" },
		{ "BZh", "bzip2 -d" },
	};
	char head[8] = "";

	if (pread(c->fd, head, sizeof head, 0) < 0)
		return err_set(e, errno, "cannot read %s", c->path);
	if (memcmp(head, ELFMAG, SELFMAG) == 0)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, "%s was cut off within its headers", c->path);
	err_set_kind(e, ERR_UNSUPPORTED, 0, "%s is not a core file", c->path);
	for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
		if (memcmp(head, packed[i].magic, strlen(packed[i].magic)) == 0)
			return err_hint(
				e, "It is compressed: unpack it with %s first", packed[i].unpack);
	return -1;
}

static int
check_header(struct core *c, struct err *e)
{
	GElf_Ehdr h;

	if (!c->elf || elf_kind(c->elf) != ELF_K_ELF || !gelf_getehdr(c->elf, &h))
		return not_a_core(c, e);
	if (h.e_type != ET_CORE)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s is not a core file but %s", c->path,
			h.e_type == ET_REL ? "an object file" : "a program or a library");
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (h.e_machine == machines[i].machine && h.e_ident[EI_CLASS] == machines[i].class)
			c->machine = &machines[i];
	if (!c->machine || h.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s is the core file of a machine memdiag does not know (ELF machine %d, %s)",
			c->path, h.e_machine,
			h.e_ident[EI_CLASS] == ELFCLASS64 ? "64 bit" : "32 bit");
	c->word_bytes = c->machine->class == ELFCLASS64 ? 8 : 4;
	return 0;
}

/* ---- notes ---- */

static uint64_t
core_read_number(const char *at, size_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, bytes);
	return v;
}

/* Return the number of BYTES at AT in a note of LEN; 0 if the note is too short. */
static uint64_t
core_note_number(const char *note, size_t len, size_t at, size_t bytes)
{
	return at + bytes <= len ? core_read_number(note + at, bytes) : 0;
}

static int
take_thread(struct core *c, const char *note)
{
	const struct core_machine *m = c->machine;
	struct core_thread *thread = array_add(&c->thread);

	if (!thread)
		return -1;
	if (c->thread.nr == 1) /* the first thread is the one that got the signal */
		c->signal = (int16_t)core_read_number(note + m->status.signal, 2);
	thread->tid = (pid_t)core_read_number(note + m->status.tid, 4);
	thread->sp.v = core_read_number(note + m->status.sp, c->word_bytes);
	thread->pc.v = core_read_number(note + m->status.pc, c->word_bytes);
	if (m->status.pointer)
		thread->pointer.v = core_read_number(note + m->status.pointer, 8);
	return 0;
}

static void
core_take_process(struct core *c, struct target *t, const char *note, size_t len)
{
	const struct core_machine *m = c->machine;
	char name[COMM_BYTES + 1] = "";

	c->uid = (uint32_t)core_note_number(note, len, m->info.uid, m->has_short_uid ? 2 : 4);
	c->ppid = (pid_t)core_note_number(note, len, m->info.ppid, 4);
	t->pid = (pid_t)core_note_number(note, len, m->info.pid, 4);
	if (m->info.name + COMM_BYTES <= len)
		memcpy(name, note + m->info.name, COMM_BYTES);
	text_escape(name, t->comm, sizeof t->comm);
}

/*
 * NT_FILE: count, page size, count times { start, end, offset in pages }, then as many names.
 * Ignore entries that do not fit into that.
 */
static int
take_files(struct core *c, const char *note, size_t len)
{
	size_t w = c->word_bytes;
	uint64_t count = core_note_number(note, len, 0, w),
		 page = core_note_number(note, len, w, w);
	const char *name, *end = note + len;

	if (len < 2 * w || count > (len - 2 * w) / (3 * w))
		return 0;
	name = note + 2 * w + count * 3 * w;
	for (uint64_t i = 0; i < count; i++) {
		const char *at = note + 2 * w + i * 3 * w;
		const char *nul = memchr(name, '\0', (size_t)(end - name));
		struct core_mapping *m;

		if (!nul)
			return 0;
		m = array_add(&c->mapping);
		if (!m)
			return -1;
		m->start.v = core_read_number(at, w);
		m->end.v = core_read_number(at + w, w);
		m->offset_bytes = core_read_number(at + 2 * w, w) * page;
		m->path = name;
		name = nul + 1;
	}
	return 0;
}

/*
 * Keep NOTE if it has registers of the last thread, whose notes follow its NT_PRSTATUS: which ones
 * there are depends on the processor and on the program that wrote the file.
 */
static void
core_take_registers(struct core *c, uint32_t type, const char *note, size_t bytes)
{
	struct core_regset *set = c->thread.v[c->thread.nr - 1].regset;

	if (type != NT_PRSTATUS && type != NT_PRFPREG && type != NT_X86_XSTATE &&
		type != NT_PRXFPREG)
		return;
	for (int i = 0; i < CORE_NR_REGSETS; i++)
		if (!set[i].at) {
			set[i] = (struct core_regset){ note, bytes };
			return;
		}
}

static int
take_note(struct core *c, struct target *t, const GElf_Nhdr *h, const char *name, const char *note)
{
	bool is_core = h->n_namesz == 5 && memcmp(name, "CORE", 5) == 0;
	bool is_linux = h->n_namesz == 6 && memcmp(name, "LINUX", 6) == 0;

	if (is_core && h->n_type == NT_PRSTATUS && h->n_descsz >= c->machine->status.bytes &&
		take_thread(c, note) < 0)
		return -1;
	if ((is_core || is_linux) && c->thread.nr)
		core_take_registers(c, h->n_type, note, h->n_descsz);
	if (is_core && h->n_type == NT_FILE && !c->mapping.nr)
		return take_files(c, note, h->n_descsz);
	if (is_core && h->n_type == NT_PRPSINFO) {
		core_take_process(c, t, note, h->n_descsz);
	} else if (is_core && h->n_type == NT_AUXV) {
		c->auxv = note;
		c->auxv_bytes = h->n_descsz;
	} else if (is_linux && h->n_type == NT_ARM_TLS && c->thread.nr) {
		/* A thread's notes follow its NT_PRSTATUS. */
		c->thread.v[c->thread.nr - 1].pointer.v = core_note_number(note, h->n_descsz, 0, 8);
	}
	return 0;
}

/* Read the one PT_NOTE; ignore further ones. */
static int
read_notes(struct core *c, struct target *t, const GElf_Phdr *p, struct err *e)
{
	size_t at = 0, name, desc;
	Elf_Data *data = NULL;
	GElf_Nhdr h;

	if (c->thread.nr)
		return 0;
	c->notes_offset = p->p_offset;
	if (p->p_filesz <= NOTES_MAX_BYTES && p->p_offset + p->p_filesz <= c->file_bytes)
		data = elf_getdata_rawchunk(c->elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_NHDR);
	if (!data)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s was cut off: it has %" PRIu64 " bytes, and its notes would be %" PRIu64
			" bytes from %" PRIu64 " on",
			c->path, c->file_bytes, p->p_filesz, p->p_offset);
	while ((at = gelf_getnote(data, at, &h, &name, &desc)) > 0) {
		const char *base = data->d_buf;

		if (take_note(c, t, &h, base + name, base + desc) < 0)
			return err_set(e, ENOMEM, "cannot read the notes of %s", c->path);
	}
	return 0;
}

/* ---- segments ---- */

static int
core_take_segment(struct core *c, const GElf_Phdr *p)
{
	struct core_segment *s;

	if (!p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr)
		return 0;
	s = array_add(&c->segment);
	if (!s)
		return -1;
	s->start.v = p->p_vaddr;
	s->end.v = p->p_vaddr + p->p_memsz;
	s->offset = p->p_offset;
	s->data_bytes = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz;
	if (s->offset < c->file_bytes)
		s->there_bytes = c->file_bytes - s->offset;
	if (s->there_bytes > s->data_bytes)
		s->there_bytes = s->data_bytes;
	s->flags = p->p_flags;
	return 0;
}

static int
read_program_headers(struct core *c, struct target *t, struct err *e)
{
	GElf_Ehdr h;
	size_t nr;

	/*
	 * If the file has more than 65,534, their number is in a section header, at the end of the
	 * file.
	 */
	if (elf_getphdrnum(c->elf, &nr) < 0 || !gelf_getehdr(c->elf, &h) || nr < h.e_phnum ||
		nr == PN_XNUM)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s was cut off: cannot find the memory in it", c->path);
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(c->elf, (int)i, &p))
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"%s was cut off within its program headers", c->path);
		if (p.p_type == PT_NOTE && read_notes(c, t, &p, e) < 0)
			return -1;
		if (p.p_type == PT_LOAD && core_take_segment(c, &p) < 0)
			return err_set(e, ENOMEM, "cannot read the segments of %s", c->path);
	}
	return 0;
}

/* ---- sorting ---- */

static int
segment_by_start(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

/* If segments overlap, which no valid file has, keep the first one. */
static void
sort_segments(struct core *c)
{
	size_t kept = 0;

	if (c->segment.nr)
		qsort(c->segment.v, c->segment.nr, sizeof *c->segment.v, segment_by_start);
	for (size_t i = 0; i < c->segment.nr; i++)
		if (!kept || c->segment.v[i].start.v >= c->segment.v[kept - 1].end.v)
			c->segment.v[kept++] = c->segment.v[i];
	c->segment.nr = kept;
}

static int
mapping_by_start(const void *a, const void *b)
{
	const struct core_mapping *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

static int
thread_by_tid(const void *a, const void *b)
{
	const struct core_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void
sort_mappings(struct core *c)
{
	size_t kept = 0;

	if (c->mapping.nr)
		qsort(c->mapping.v, c->mapping.nr, sizeof *c->mapping.v, mapping_by_start);
	for (size_t i = 0; i < c->mapping.nr; i++) {
		const struct core_mapping *m = &c->mapping.v[i];

		if (m->start.v < m->end.v && (!kept || m->start.v >= c->mapping.v[kept - 1].end.v))
			c->mapping.v[kept++] = *m;
	}
	c->mapping.nr = kept;
}

static int
mapping_by_path(const void *a, const void *b)
{
	const struct core_mapping *x = *(struct core_mapping *const *)a;
	const struct core_mapping *y = *(struct core_mapping *const *)b;
	int order = strcmp(x->path, y->path);

	return order ? order : mapping_by_start(x, y);
}

/* Number the files in the order of their names. */
static int
list_files(struct core *c)
{
	auto_free struct core_mapping **by_path = calloc(c->mapping.nr + 1, sizeof *by_path);
	struct core_file *file = NULL;

	if (!by_path)
		return -1;
	for (size_t i = 0; i < c->mapping.nr; i++)
		by_path[i] = &c->mapping.v[i];
	qsort(by_path, c->mapping.nr, sizeof *by_path, mapping_by_path);
	for (size_t i = 0; i < c->mapping.nr; i++) {
		struct core_mapping *m = by_path[i];

		if (!file || strcmp(file->path, m->path) != 0) {
			file = array_add(&c->file);
			if (!file)
				return -1;
			file->path = m->path;
			file->fd = -1;
		}
		if (!m->offset_bytes && !file->header.v)
			file->header = m->start;
		m->file = c->file.nr - 1;
	}
	return 0;
}

/*
 * Add segments for file mappings without one: gcore has no PT_LOAD for file pages that were not
 * written to.
 */
static int
add_left_out(struct core *c)
{
	auto_free struct core_segment *left_out = calloc(c->mapping.nr + 1, sizeof *left_out);
	size_t nr = 0;

	if (!left_out)
		return -1;
	for (size_t i = 0; i < c->mapping.nr; i++) {
		const struct core_mapping *m = &c->mapping.v[i];
		const struct core_segment *next = core_segment_from(c, m->start);

		if (next && next->start.v < m->end.v)
			continue;
		left_out[nr++] = (struct core_segment){
			.start = m->start, .end = m->end, .flags = core_mapping_flags(c, m)
		};
	}
	for (size_t i = 0; i < nr; i++) {
		struct core_segment *s = array_add(&c->segment);

		if (!s)
			return -1;
		*s = left_out[i];
	}
	sort_segments(c);
	return 0;
}

/* ---- pages ---- */

/*
 * Return whether the memory that was written has a hole.  The kernel leaves a hole for every page
 * that a mapping does not have (dump_user_range(), fs/coredump.c); gcore and pipes write zeroes.
 * gcore's notes come last: if its file has holes, they come from a copy, which made holes of zero
 * pages.
 */
static bool
has_holes(const struct core *c)
{
	uint64_t first = c->file_bytes, end = 0;
	off_t hole;

	for (size_t i = 0; i < c->segment.nr; i++) {
		const struct core_segment *s = &c->segment.v[i];

		if (!s->there_bytes)
			continue;
		if (s->offset < first)
			first = s->offset;
		if (s->offset + s->there_bytes > end)
			end = s->offset + s->there_bytes;
	}
	hole = lseek(c->fd, (off_t)first, SEEK_HOLE);
	return c->notes_offset < first && first < end && hole >= 0 && (uint64_t)hole < end;
}

static uint64_t
page_size(const struct core *c)
{
	uint64_t bytes = core_auxv(c, AT_PAGESZ);

	return bytes >= 4096 && bytes <= 65536 && !(bytes & (bytes - 1)) ? bytes : 4096;
}

/* ---- opening ---- */

static int
core_open_file(struct core *c, struct err *e)
{
	struct stat st;

	c->fd = os_open_at(AT_FDCWD, c->path, OS_REGULAR);
	if (c->fd < 0 && (errno == ENODEV || errno == EISDIR))
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s is not a regular file", c->path);
	if (c->fd < 0 || fstat(c->fd, &st) < 0)
		return err_set(e, errno, "cannot open %s", c->path);
	c->file_bytes = (uint64_t)st.st_size;
	elf_version(EV_CURRENT);
	/* Not mapped: if a file is truncated while we read it, a mapping would raise SIGBUS. */
	c->elf = elf_begin(c->fd, ELF_C_READ, NULL);
	return 0;
}

static int
read_core(struct core *c, struct target *t, struct err *e)
{
	if (core_open_file(c, e) < 0 || check_header(c, e) < 0 || read_program_headers(c, t, e) < 0)
		return -1;
	sort_segments(c);
	sort_mappings(c);
	if (!c->segment.nr || !c->thread.nr)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s has no %s in it", c->path,
			c->segment.nr ? "threads" : "memory");
	qsort(c->thread.v, c->thread.nr, sizeof *c->thread.v, thread_by_tid);
	c->page_bytes = page_size(c);
	if (list_files(c) < 0 || add_left_out(c) < 0)
		return err_set(e, ENOMEM, "cannot list the files in %s", c->path);
	if (!t->pid) /* no NT_PRPSINFO; the main thread usually has the lowest number */
		t->pid = c->thread.v[0].tid;
	t->mem_tid = t->pid;
	c->has_holes = has_holes(c);
	debug("%s: %s, %zu segments, %zu mapped files, %zu threads, %s holes", c->path,
		c->machine->name, c->segment.nr, c->file.nr, c->thread.nr,
		c->has_holes ? "with" : "no");
	return 0;
}

void
core_free(struct core *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->file.nr; i++)
		cleanup_fd(&c->file.v[i].fd);
	elf_end(c->elf);
	cleanup_fd(&c->fd);
	free(c->segment.v);
	free(c->mapping.v);
	free(c->file.v);
	free(c->thread.v);
	free(c->path);
	free(c->sysroot);
	free(c);
}

int
target_open_core(struct target *t, const char *path, const char *sysroot, struct err *e)
{
	struct core *c = calloc(1, sizeof *c);

	*t = (struct target)TARGET_NONE;
	if (!c)
		return err_set(e, ENOMEM, "cannot open %s", path);
	t->core = c;
	c->fd = -1;
	c->path = strdup(path);
	c->sysroot = sysroot ? strdup(sysroot) : NULL;
	if (!c->path || (sysroot && !c->sysroot))
		err_set(e, ENOMEM, "cannot open %s", path);
	else if (read_core(c, t, e) == 0)
		return 0;
	core_free(c);
	*t = (struct target)TARGET_NONE;
	return -1;
}

/*
 * Return whether the first page of a mapped file was written: its ELF header identifies the file.
 */
static bool
has_headers(const struct core *c)
{
	for (size_t i = 0; i < c->mapping.nr; i++) {
		const struct core_mapping *m = &c->mapping.v[i];
		const struct core_segment *s =
			m->offset_bytes ? NULL : core_segment_from(c, m->start);

		if (s && s->start.v <= m->start.v && m->start.v < s->start.v + s->data_bytes)
			return true;
	}
	return false;
}

bool
os_core_facts(const struct target *t, struct os_core_facts *ret)
{
	const struct core *c = t->core;
	const struct core_segment *s;

	if (!c)
		return false;
	*ret = (struct os_core_facts){ .path = c->path, .signal = c->signal };
	s = core_segment_from(c, c->thread.v[0].sp);
	ret->is_filtered = s && s->start.v <= c->thread.v[0].sp.v && !s->data_bytes;
	ret->lacks_headers = c->mapping.nr && !has_headers(c);
	for (size_t i = 0; i < c->segment.nr; i++) {
		s = &c->segment.v[i];
		ret->memory_bytes += s->data_bytes;
		ret->missing_bytes += s->data_bytes - s->there_bytes;
	}
	return true;
}

int
os_core_each_regset(const struct target *t, pid_t tid,
	void (*fn)(const char *at, size_t bytes, void *arg), void *arg, raddr *ret_sp)
{
	const struct core *c = t->core;
	const struct core_thread *thread = NULL;

	for (size_t i = 0; i < c->thread.nr && !thread; i++)
		if (c->thread.v[i].tid == tid)
			thread = &c->thread.v[i];
	if (!thread)
		return -1;
	for (int i = 0; i < CORE_NR_REGSETS && thread->regset[i].at; i++)
		fn(thread->regset[i].at, thread->regset[i].bytes, arg);
	*ret_sp = thread->sp;
	return 0;
}
