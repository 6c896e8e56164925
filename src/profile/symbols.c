#include <config.h>

#include "profile/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/mapping.h"
#include "os/stranger.h"
#include "profile/debug-files.h"
#include "profile/demangle.h"
#include "profile/lines.h"
#include "profile/profile-priv.h"
#include "profile/symbol-table.h"
#include "profile/symbols-dwarf.h"

#define MAX_PERF_MAP_BYTES ((size_t)256 << 20)
#define DELETED " (deleted)"

/* A mapped file, once. */
struct symbols_object {
	const char *path, *build_id; /* the profile's */
	Dwfl *dwfl;
	Dwfl_Module *mod; /* NULL if it cannot be read, or must not be used */
	Elf *elf;
	GElf_Addr bias;
	struct symbol_table symbols;
	struct dwarf_units units;
	bool needs_lines;
	bool lacks_memory; /* a warning was given */
	bool is_split;	   /* likewise, for debug information in files that were not read */
};

struct namer {
	struct profile *p;
	const struct symbols_options *options;
	int program; /* the mapping of the program; -1 if unknown */
	struct {
		struct symbols_object *v;
		size_t nr, room;
	} objects;
	uint32_t *object_1; /* by mapping: number of its object + 1; 0: not searched yet */
	size_t nr_mappings; /* of the profile, for which object_1 has room */
	struct text perf_map;
	struct symbol_table perf;
};

/* ---- symbols of a file ---- */

/* Return whether SYM of ELF is code. */
static bool
symbols_is_code(Elf *elf, const GElf_Sym *sym, GElf_Word section)
{
	int type = GELF_ST_TYPE(sym->st_info);
	GElf_Shdr shdr;
	Elf_Scn *scn;

	if (section == SHN_UNDEF || section == SHN_ABS)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	if (type != STT_NOTYPE || GELF_ST_BIND(sym->st_info) == STB_LOCAL)
		return false;
	scn = elf ? elf_getscn(elf, section) : NULL;
	return scn && gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_EXECINSTR;
}

static int
symbols_read_symbols(struct symbols_object *o)
{
	int nr = dwfl_module_getsymtab(o->mod);

	if (nr > 0 && array_reserve(&o->symbols, (size_t)nr) < 0)
		return -1;
	for (int i = 0; i < nr; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		GElf_Word section;
		Elf *elf = NULL;
		const char *name =
			dwfl_module_getsym_info(o->mod, i, &sym, &address, &section, &elf, NULL);
		struct symbol *s;

		if (!name || !*name || !symbols_is_code(elf, &sym, section))
			continue;
		s = array_add(&o->symbols);
		if (!s)
			return -1;
		*s = (struct symbol){ address, sym.st_size, name,
			GELF_ST_BIND(sym.st_info) != STB_LOCAL };
	}
	return symbol_table_finish(&o->symbols);
}

/* ---- files ---- */

/*
 * Warn once that memory was lacking.  libelf and libdw then omit what they cannot unpack, as if O
 * did not have it; the only sign is that errno is ENOMEM.
 */
static void
warn_of_memory(struct profile *p, struct symbols_object *o)
{
	char shown[512];

	if (o->lacks_memory)
		return;
	o->lacks_memory = true;
	profile_warn(p, false,
		"%s needs more memory than memdiag may take (--max-memory): its functions may have no names",
		text_printable(o->path, shown, sizeof shown));
}

/* Warn once that O's debug information is partly in files that others can change. */
static void
warn_of_split(struct profile *p, struct symbols_object *o)
{
	char shown[512];

	if (o->is_split)
		return;
	o->is_split = true;
	profile_warn(p, false,
		"%s has debug information in files (.dwo) that another user can change, which are not read: lines and inlined functions are missing; "
		"run this as their owner, or allow nobody else to write to them and to their directories",
		text_printable(o->path, shown, sizeof shown));
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = debug_file_find,
	.section_address = dwfl_offline_section_address,
};

static const Dwfl_Callbacks callbacks_for_lines = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = debug_file_find_plain,
	.section_address = dwfl_offline_section_address,
};

static void
close_object(struct symbols_object *o)
{
	if (o->dwfl)
		dwfl_end(o->dwfl);
	o->dwfl = NULL;
	o->mod = NULL;
	o->elf = NULL;
}

/*
 * Open FD, which is taken over, of a file called PATH or, if PATH is NULL, the file with the
 * build-id ID of LEN bytes.
 */
static bool
open_module(struct symbols_object *o, int fd, const char *path, const unsigned char *id, size_t len)
{
	auto_fd int owned = path ? os_keep_contents(fd) : -1;

	if (path && owned < 0)
		return false;
	o->dwfl = dwfl_begin(o->needs_lines ? &callbacks_for_lines : &callbacks);
	if (!o->dwfl)
		return false;
	dwfl_report_begin(o->dwfl);
	if (path) {
		o->mod = dwfl_report_elf(o->dwfl, path, path, owned, 0, true);
		if (o->mod)
			owned = -1;
	} else {
		o->mod = dwfl_report_module(o->dwfl, o->path, 0, UINT64_MAX >> 1);
		if (o->mod && dwfl_module_report_build_id(o->mod, id, (int)len, 0) != 0)
			o->mod = NULL;
	}
	dwfl_report_end(o->dwfl, NULL, NULL);
	if (o->mod)
		o->elf = dwfl_module_getelf(o->mod, &o->bias);
	if (!o->elf)
		close_object(o);
	return o->elf != NULL;
}

/* Return the build-id of the open file, as hex; "" if it has no build-id. */
static const char *
symbols_build_id_of(const struct symbols_object *o, char *buf, size_t size)
{
	const unsigned char *id;
	GElf_Addr at;
	int len = dwfl_module_build_id(o->mod, &id, &at);

	*buf = '\0';
	for (int i = 0; i < len && 2 * (size_t)i + 3 <= size; i++)
		snprintf(buf + 2 * (size_t)i, 3, "%02x", id[i]);
	return buf;
}

/* Store HEX as bytes in ID, of SIZE; return their number, 0 if it is not a build-id. */
static size_t
parse_build_id(const char *hex, unsigned char *id, size_t size)
{
	size_t len = strlen(hex) / 2;

	if (strlen(hex) % 2 || len > size || hex[strspn(hex, "0123456789abcdefABCDEF")])
		return 0;
	for (size_t i = 0; i < len; i++)
		sscanf(hex + 2 * i, "%2hhx", &id[i]);
	return len;
}

/* Open the file with the mapping's build-id from debug packages or debuginfod. */
static bool
open_by_build_id(struct symbols_object *o)
{
	unsigned char id[64];
	size_t len = parse_build_id(o->build_id, id, sizeof id);

	return len && open_module(o, -1, NULL, id, len);
}

/* Warn that O's file at PATH cannot be read, for the reason CODE. */
static void
warn_of_file(struct profile *p, struct symbols_object *o, const char *path, int code)
{
	char shown[512];

	if (code == ENOMEM)
		warn_of_memory(p, o);
	else
		profile_warn(p, false, "%s cannot be read: its functions have no names",
			text_printable(path, shown, sizeof shown));
}

/* Return whether the open file is the one that was profiled, as far as both build-ids are known. */
static bool
is_profiled(const struct symbols_object *o)
{
	char found[160];

	symbols_build_id_of(o, found, sizeof found);
	return !*o->build_id || !*found || strcasecmp(found, o->build_id) == 0;
}

/* Open FD, which is taken over, if its build-id is that of O's file. */
static bool
open_if_profiled(struct symbols_object *o, int fd)
{
	char found[160];

	if (fd < 0 || !open_module(o, fd, o->path, NULL, 0))
		return false;
	if (strcasecmp(symbols_build_id_of(o, found, sizeof found), o->build_id) == 0)
		return true;
	close_object(o);
	return false;
}

/*
 * Open the file of M, of the profile P, in its process, or by its name there: the process runs in a
 * container, or its file was replaced since it began.
 */
static bool
open_of_process(const struct profile *p, struct symbols_object *o, const struct profile_mapping *m)
{
	return p->pid && *o->build_id &&
		(open_if_profiled(o, os_pid_mapping_open(p->pid, m->start, m->end)) ||
			open_if_profiled(o, os_pid_file_open(p->pid, o->path)));
}

/* Open the file at PATH, which the user gives for O. */
static int
open_asked_for(struct profile *p, struct symbols_object *o, const char *path, struct err *e)
{
	char found[160], shown[512];
	const int fd = os_open_at(AT_FDCWD, path, OS_REGULAR);

	if (fd < 0 || !open_module(o, fd, path, NULL, 0))
		return err_set(e, fd < 0 || errno == ENOMEM ? errno : 0,
			"cannot read '%s' as a program", path);
	if (!is_profiled(o))
		profile_warn(p, false,
			"%s is not the program that was profiled: its build-id is %s, not %s; "
			"names may be wrong",
			text_printable(path, shown, sizeof shown),
			symbols_build_id_of(o, found, sizeof found), o->build_id);
	return 0;
}

/* Open O's file at PATH or, if another one is there, elsewhere. */
static void
open_at(struct profile *p, struct symbols_object *o, const struct profile_mapping *m,
	const char *path)
{
	char found[160], shown[512];
	const int fd = os_open_at(AT_FDCWD, path, OS_REGULAR);
	const bool is_there = fd >= 0 && open_module(o, fd, path, NULL, 0);
	const int code = fd < 0 || errno == ENOMEM ? errno : 0;

	if (is_there && is_profiled(o))
		return;
	if (is_there)
		symbols_build_id_of(o, found, sizeof found);
	close_object(o);
	if (open_of_process(p, o, m) || open_by_build_id(o))
		return;
	if (is_there)
		profile_warn(p, false,
			"%s is not the file that was profiled: its build-id is %s, not %s; "
			"its functions have no names",
			text_printable(path, shown, sizeof shown), found, o->build_id);
	else
		warn_of_file(p, o, path, code);
}

/* Open the file that a running process has mapped at M.  1: opened, 0: it is not available. */
static int
symbols_open_mapped(
	struct namer *n, struct symbols_object *o, const struct profile_mapping *m, struct err *e)
{
	const struct symbols_files *files = n->options->files;
	int fd = files ? files->mapped(m, files->arg) : -1;

	if (fd < 0 || !open_module(o, fd, o->path, NULL, 0))
		return 0;
	return symbols_read_symbols(o) < 0 ? err_set(e, ENOMEM, "cannot read '%s'", o->path) : 1;
}

static int
open_object(struct namer *n, struct symbols_object *o, const struct profile_mapping *m,
	bool is_program, struct err *e)
{
	int is_open = symbols_open_mapped(n, o, m, e);
	const char *root = n->options->sysroot;
	size_t len = strlen(o->path), tail = strlen(DELETED);
	bool is_deleted = len > tail && strcmp(o->path + len - tail, DELETED) == 0;
	auto_free char *path = NULL;

	if (is_open)
		return is_open < 0 ? -1 : 0;
	if (is_program && n->options->program)
		return open_asked_for(n->p, o, n->options->program, e) < 0
			? -1
			: symbols_read_symbols(o);
	if (*o->path != '/')
		return 0;
	/* The file now at that path is another one, unless its build-id is the same. */
	if (is_deleted && !*o->build_id) {
		profile_warn(n->p, false, "%s: its functions have no names", o->path);
		return 0;
	}
	if (asprintf(&path, "%s%.*s", root ? root : "", (int)(is_deleted ? len - tail : len),
		    o->path) < 0) {
		path = NULL;
		return err_set(e, ENOMEM, "cannot read '%s'", o->path);
	}
	open_at(n->p, o, m, path);
	return o->mod && symbols_read_symbols(o) < 0 ? err_set(e, ENOMEM, "cannot read '%s'", path)
						     : 0;
}

/* ---- the mapping of the program ---- */

static const char *
symbols_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool
symbols_is_library(const char *path)
{
	const char *so = strstr(symbols_base_name(path), ".so");

	return so && (!so[3] || so[3] == '.' || so[3] == ' ');
}

int
symbols_main_mapping(const struct profile *p)
{
	for (size_t i = 0; i < p->mappings.nr; i++)
		if (*p->mappings.v[i].path == '/' && !symbols_is_library(p->mappings.v[i].path) &&
			strncmp(p->mappings.v[i].path, "/memfd:", 7) != 0)
			return (int)i;
	return -1;
}

/* Return the mapping whose file is the user's program. */
static int
symbols_program_mapping(const struct profile *p, const char *program)
{
	auto_free char *real = program ? realpath(program, NULL) : NULL;

	for (size_t i = 0; real && i < p->mappings.nr; i++)
		if (strcmp(p->mappings.v[i].path, real) == 0)
			return (int)i;
	for (size_t i = 0; program && i < p->mappings.nr; i++)
		if (strcmp(symbols_base_name(p->mappings.v[i].path), symbols_base_name(program)) ==
			0)
			return (int)i;
	return symbols_main_mapping(p);
}

static int
find_object(struct namer *n, uint32_t mapping, struct symbols_object **ret, struct err *e)
{
	const struct profile_mapping *m = &n->p->mappings.v[mapping];
	struct symbols_object *o;
	size_t i = 0;
	bool is_program = n->program >= 0 && n->p->mappings.v[n->program].path == m->path;

	if (!n->object_1[mapping]) {
		/* Strings of a profile are equal only if their pointers are. */
		while (i < n->objects.nr &&
			(n->objects.v[i].path != m->path ||
				n->objects.v[i].build_id != m->build_id))
			i++;
		if (i == n->objects.nr) {
			o = array_add(&n->objects);
			if (!o)
				return err_set(e, ENOMEM, "cannot name functions");
			o->path = m->path;
			o->build_id = m->build_id;
			o->needs_lines = !n->options->without_lines;
			errno = 0;
			if (open_object(n, o, m, is_program, e) < 0)
				return -1;
			if (errno == ENOMEM)
				warn_of_memory(n->p, o);
		}
		n->object_1[mapping] = (uint32_t)i + 1;
	}
	*ret = &n->objects.v[n->object_1[mapping] - 1];
	return 0;
}

/* ---- code made at run time ---- */

static int
open_perf_map(const struct namer *n)
{
	const char *directory = n->options->perf_map ? n->options->perf_map : "/tmp";
	auto_free char *path = NULL;

	if (n->options->files)
		return n->options->files->perf_map(n->options->files->arg);
	if (!n->p->pid || asprintf(&path, "%s/perf-%" PRId64 ".map", directory, n->p->pid) < 0) {
		path = NULL;
		return -1;
	}
	return os_open_at(AT_FDCWD, path, OS_REGULAR | OS_NO_LINK);
}

/* Read "START SIZE NAME" on each line, in hex. */
static void
read_perf_map(struct namer *n)
{
	struct lines l = { 0 };
	auto_fd int fd = open_perf_map(n);

	if (fd < 0 || text_read(&n->perf_map, fd, MAX_PERF_MAP_BYTES) < 0)
		return;
	l = (struct lines){ "perf map", n->perf_map.v, n->perf_map.v + n->perf_map.len, NULL, 0, 0,
		false, false };
	while (lines_next(&l)) {
		const char *at = l.line, *end = l.line + l.len;
		struct symbol s = { .is_global = true };
		struct symbol *added;

		if (!parse_hex(&at, end, &s.start) || !parse_hex(&at, end, &s.size_bytes) ||
			end - at < 2 || !(added = array_add(&n->perf)))
			continue;
		s.name = profile_string(n->p, at + 1, (size_t)(end - at - 1));
		*added = s;
		n->perf.nr -= !s.name;
	}
	(void)symbol_table_finish(&n->perf); /* without memory, no names */
}

/* ---- frames ---- */

/* Replace the offset of M, which is an address in O's file, by the offset in the file. */
static void
find_offset(const struct symbols_object *o, struct profile_mapping *m)
{
	size_t nr = 0;
	GElf_Phdr phdr;

	if (elf_getphdrnum(o->elf, &nr) != 0)
		return;
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(o->elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
			m->offset_bytes >= phdr.p_vaddr &&
			m->offset_bytes - phdr.p_vaddr < phdr.p_memsz) {
			m->offset_bytes = m->offset_bytes - phdr.p_vaddr + phdr.p_offset;
			m->offset_kind = PROFILE_OFFSET_IN_FILE;
			return;
		}
}

/* Find the address of the byte at OFFSET of O's file, as libdwfl has it. */
static bool
symbols_address_of(const struct symbols_object *o, uint64_t offset, uint64_t *ret)
{
	size_t nr = 0;
	GElf_Phdr phdr;

	if (elf_getphdrnum(o->elf, &nr) != 0)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(o->elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
			offset >= phdr.p_offset && offset - phdr.p_offset < phdr.p_filesz) {
			*ret = offset - phdr.p_offset + phdr.p_vaddr + o->bias;
			return true;
		}
	return false;
}

static int
add_name(struct profile *p, uint32_t frame, const char *name, struct err *e)
{
	auto_free char *demangled = name ? demangle(name) : NULL;

	return name ? profile_add_line(p, frame, demangled ? demangled : name, "", 0, e) : 0;
}

static int
symbols_name_frame(struct namer *n, uint32_t i, struct err *e)
{
	struct profile_frame *frame = &n->p->frames.v[i];
	uint64_t pc = profile_frame_pc(frame), at;
	struct profile_mapping *m;
	struct symbols_object *o = NULL;
	const char *symbol;
	int r;

	if (!frame->mapping_1)
		return add_name(n->p, i, symbol_table_at(&n->perf, pc), e);
	m = &n->p->mappings.v[frame->mapping_1 - 1];
	if (m->offset_kind == PROFILE_OFFSET_UNKNOWN)
		return 0;
	if ((*m->path != '/' && strcmp(m->path, "[vdso]") != 0) ||
		strncmp(m->path, "/memfd:", 7) == 0)
		return add_name(n->p, i, symbol_table_at(&n->perf, pc), e);
	if (find_object(n, frame->mapping_1 - 1, &o, e) < 0)
		return -1;
	if (o->mod && m->offset_kind == PROFILE_OFFSET_IS_ADDRESS)
		find_offset(o, m);
	if (!o->mod || m->offset_kind != PROFILE_OFFSET_IN_FILE ||
		!symbols_address_of(o, pc - m->start + m->offset_bytes, &at))
		return 0;
	symbol = symbol_table_at(&o->symbols, at);
	errno = 0;
	r = n->options->without_lines ? 0
				      : dwarf_name_frame(&o->units, o->mod, at, symbol, n->p, i, e);
	if (r < 0)
		return -1;
	if (errno == ENOMEM || o->units.lacks_memory)
		warn_of_memory(n->p, o);
	if (o->units.has_strange_split)
		warn_of_split(n->p, o);
	return r ? 0 : add_name(n->p, i, symbol, e);
}

static int
symbols_by_address(const void *a, const void *b, void *arg)
{
	const struct profile *p = arg;
	uint64_t x = p->frames.v[*(const uint32_t *)a].address;
	uint64_t y = p->frames.v[*(const uint32_t *)b].address;

	return (x > y) - (x < y);
}

struct symbols {
	struct namer namer;
	struct symbols_options options;
	uint32_t nr_frames; /* frames of the profile that were examined */
	bool has_perf_map;  /* it was read */
};

void
symbols_close(struct symbols *s)
{
	if (s) {
		for (size_t i = 0; i < s->namer.objects.nr; i++) {
			dwarf_units_release(&s->namer.objects.v[i].units);
			free(s->namer.objects.v[i].symbols.v);
			if (s->namer.objects.v[i].dwfl)
				dwfl_end(s->namer.objects.v[i].dwfl);
		}
		free(s->namer.objects.v);
		free(s->namer.object_1);
		free(s->namer.perf.v);
		text_release(&s->namer.perf_map);
	}
	free(s);
}

int
symbols_open(struct symbols **ret, struct profile *p, const struct symbols_options *options,
	struct err *e)
{
	struct symbols *s = calloc(1, sizeof *s);

	if (!s)
		return err_set(e, ENOMEM, "cannot name functions");
	s->options = *options;
	s->namer.p = p;
	s->namer.options = &s->options;
	*ret = s;
	return 0;
}

/* Make room for mappings added since the last time. */
static int
note_mappings(struct symbols *s, struct err *e)
{
	struct namer *n = &s->namer;
	const size_t nr = n->p->mappings.nr;
	uint32_t *objects = realloc(n->object_1, (nr + 1) * sizeof *objects);

	if (!objects)
		return err_set(e, ENOMEM, "cannot name functions");
	memset(&objects[n->nr_mappings], 0, (nr + 1 - n->nr_mappings) * sizeof *objects);
	n->object_1 = objects;
	n->nr_mappings = nr;
	n->program = symbols_program_mapping(n->p, n->options->program);
	return 0;
}

int
symbols_update(struct symbols *s, struct err *e)
{
	struct profile *p = s->namer.p;
	auto_free uint32_t *order = calloc(p->frames.nr - s->nr_frames + 1, sizeof *order);
	size_t nr = 0;

	if (!order)
		return err_set(e, ENOMEM, "cannot name functions");
	if (note_mappings(s, e) < 0)
		return -1;
	if (!s->has_perf_map)
		read_perf_map(&s->namer);
	s->has_perf_map = true;
	for (; s->nr_frames < p->frames.nr; s->nr_frames++)
		if (!p->frames.v[s->nr_frames].nr_lines)
			order[nr++] = s->nr_frames;
	qsort_r(order, nr, sizeof *order, symbols_by_address, p);
	for (size_t i = 0; i < nr; i++)
		if (symbols_name_frame(&s->namer, order[i], e) < 0)
			return -1;
	return 0;
}

int
symbols_find(struct profile *p, const struct symbols_options *options, struct err *e)
{
	auto_symbols struct symbols *s = NULL;

	return symbols_open(&s, p, options, e) < 0 || symbols_update(s, e) < 0 ? -1 : 0;
}
