#include <config.h>

#include "profile/symbols-dwarf.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "os/ceiling.h"
#include "os/stranger.h"
#include "profile/demangle.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper than any compiler nests inlined functions, and any programmer namespaces. */
#define MAX_DEPTH 128

/* The addresses of a function or of a unit. */
struct dwarf_range {
	Dwarf_Addr start, end;
	Dwarf_Off die;
};

/*
 * The functions of a unit.  libdw's own search (dwarf_getscopes()) walks the whole unit for each
 * address.
 */
struct dwarf_unit {
	const void *die; /* address of its DIE, by which it is found */
	Dwarf_Die all;	 /* the complete DIE: the same, or that of find_split() */
	struct {
		struct dwarf_range *v;
		size_t nr, room;
	} functions; /* sorted by start */
};

void
dwarf_units_release(struct dwarf_units *u)
{
	for (size_t i = 0; i < u->nr; i++) {
		free(u->v[i]->functions.v);
		free(u->v[i]);
	}
	free(u->v);
	free(u->ranges.v);
	*u = (struct dwarf_units){ 0 };
}

static int
symbols_dwarf_by_start(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Return how many of the NR ranges V, which are sorted, begin at PC or before. */
static size_t
count_up_to(const struct dwarf_range *v, size_t nr, Dwarf_Addr pc)
{
	size_t from = 0, to = nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (v[mid].start <= pc)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* ---- units ---- */

static int
read_ranges(struct dwarf_units *u, Dwfl_Module *mod)
{
	Dwarf_Addr bias, base, start, end;

	u->has_ranges = true;
	for (Dwarf_Die *cu = NULL; (cu = dwfl_module_nextcu(mod, cu, &bias));) {
		ptrdiff_t at = 0;

		while ((at = dwarf_ranges(cu, at, &base, &start, &end)) > 0) {
			struct dwarf_range *range = array_add(&u->ranges);

			if (!range)
				return -1;
			*range = (struct dwarf_range){ start, end, dwarf_dieoffset(cu) };
		}
	}
	if (u->ranges.nr)
		qsort(u->ranges.v, u->ranges.nr, sizeof *u->ranges.v, symbols_dwarf_by_start);
	return 0;
}

/*
 * Find the unit of MOD that contains PC, from the ranges in the units.  libdw searches only
 * .debug_aranges (before elfutils 0.191), which clang and rustc do not write.  1 with *RET; 0 if no
 * unit contains it; -1 if memory runs out.
 */
static int
find_by_ranges(struct dwarf_units *u, Dwfl_Module *mod, Dwarf *dbg, Dwarf_Addr pc, Dwarf_Die *ret)
{
	size_t nr;

	if (!u->has_ranges && read_ranges(u, mod) < 0)
		return -1;
	nr = count_up_to(u->ranges.v, u->ranges.nr, pc);
	return nr && pc < u->ranges.v[nr - 1].end &&
		dwarf_offdie(dbg, u->ranges.v[nr - 1].die, ret);
}

/* ---- units in separate files ---- */

/* Return the string of attribute NAME of DIE, or of its older name GNU; NULL if it has neither. */
static const char *
symbols_dwarf_string_of(Dwarf_Die *die, unsigned int name, unsigned int gnu)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) || dwarf_attr(die, gnu, &attribute)
		? dwarf_formstring(&attribute)
		: NULL;
}

/* Return whether no other user can change the file DIRECTORY/NAME; a NULL directory is safe. */
static bool
is_safe(const char *directory, const char *name)
{
	auto_free char *path = NULL;

	if (*name == '/')
		return os_path_is_trusted(name);
	if (!directory)
		return true;
	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return false;
	}
	return os_path_is_trusted(path);
}

/* As is_safe(), where libdw looks first: next to the file at PATH, by its real name. */
static bool
is_safe_beside(const char *path, const char *name)
{
	auto_free char *real = path ? realpath(path, NULL) : NULL;
	char *slash = real ? strrchr(real, '/') : NULL;

	if (slash)
		*slash = '\0';
	return is_safe(slash ? real : NULL, name);
}

/*
 * Replace *CU, which refers to it, by the unit that -gsplit-dwarf has put into a separate file.
 * libdw opens that file by its name, whatever it is, on the first request
 * (libdw/libdw_find_split_unit.c, 0.171 to 0.192): so only request it if no other user can have put
 * it there.
 */
static void
find_split(struct dwarf_units *u, Dwfl_Module *mod, Dwarf_Die *cu)
{
	const char *name = symbols_dwarf_string_of(cu, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
	const char *directory = symbols_dwarf_string_of(cu, DW_AT_comp_dir, DW_AT_comp_dir);
	const char *file = NULL, *debug_file = NULL;
	Dwarf_Die split = { .addr = NULL };

	if (!name)
		return;
	dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, &file, &debug_file);
	if (!is_safe(directory, name) || !is_safe_beside(file, name) ||
		!is_safe_beside(debug_file, name)) {
		u->has_strange_split = true;
		return;
	}
	if (dwarf_cu_info(cu->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
		*cu = split;
}

/* ---- functions of a unit ---- */

static int
add_ranges(struct dwarf_unit *unit, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct dwarf_range *range = array_add(&unit->functions);

		if (!range)
			return -1;
		*range = (struct dwarf_range){ start, end, dwarf_dieoffset(die) };
	}
	return 0;
}

/* Add all functions below DIE, including those in namespaces, classes and functions. */
static int
add_functions(struct dwarf_unit *unit, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;

	if (depth > MAX_DEPTH || dwarf_child(die, &child) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram && add_ranges(unit, &child) < 0)
			return -1;
		if ((tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
			    tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
			    tag == DW_TAG_module) &&
			add_functions(unit, &child, depth + 1) < 0)
			return -1;
	} while (dwarf_siblingof(&child, &child) == 0);
	return 0;
}

/* Find or make the functions of the unit CU of MOD; NULL if memory runs out. */
static struct dwarf_unit *
find_unit(struct dwarf_units *u, Dwfl_Module *mod, Dwarf_Die *cu)
{
	struct dwarf_unit **unit;

	/* Frames are sorted by address, so it is mostly the last one. */
	for (size_t i = u->nr; i-- > 0;)
		if (u->v[i]->die == cu->addr)
			return u->v[i];
	unit = array_add(u);
	if (!unit)
		return NULL;
	*unit = calloc(1, sizeof **unit);
	if (!*unit) {
		u->nr--;
		return NULL;
	}
	(*unit)->die = cu->addr;
	(*unit)->all = *cu;
	find_split(u, mod, &(*unit)->all);
	if (add_functions(*unit, &(*unit)->all, 0) < 0)
		return NULL;
	if ((*unit)->functions.nr)
		qsort((*unit)->functions.v, (*unit)->functions.nr, sizeof *(*unit)->functions.v,
			symbols_dwarf_by_start);
	return *unit;
}

/* ---- inlined functions ---- */

/* Find the function inlined into DIE, at any depth of blocks, that contains PC. */
static bool
find_inlined(Dwarf_Die *die, Dwarf_Addr pc, int depth, Dwarf_Die *ret)
{
	Dwarf_Die child;

	if (depth > MAX_DEPTH || dwarf_child(die, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&child, pc) == 1) {
			*ret = child;
			return true;
		}
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
			    tag == DW_TAG_catch_block) &&
			(dwarf_haspc(&child, pc) == 1 || !dwarf_hasattr(&child, DW_AT_low_pc)) &&
			find_inlined(&child, pc, depth + 1, ret))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* ---- names ---- */

/*
 * Return whether the unit of DIE was compiled from C++, whose functions are in namespaces and
 * classes.
 */
static bool
is_cxx(Dwarf_Die *die)
{
	Dwarf_Die cu;
	const int language = dwarf_diecu(die, &cu, NULL, NULL) ? dwarf_srclang(&cu) : -1;

	return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
		language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14;
}

/* Find the declaration of DIE, which is in its class; DIE itself if it has no other. */
static void
find_declaration(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	*ret = *die;
	/* An inlined copy refers to its origin, and that to the declaration in its class. */
	for (int i = 0; i < 4; i++)
		if (!dwarf_attr(ret, DW_AT_abstract_origin, &attribute) &&
			!dwarf_attr(ret, DW_AT_specification, &attribute))
			return;
		else if (!dwarf_formref_die(&attribute, ret))
			return;
}

/* Append the name of SCOPE to NAME, of SIZE bytes: a lambda by its line and column. */
static void
add_scope(char *name, size_t size, Dwarf_Die *scope)
{
	const char *own = dwarf_diename(scope);
	const int tag = dwarf_tag(scope);
	const bool is_type = tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
	const size_t len = strlen(name);
	int line = 0, column = 0;

	if (tag != DW_TAG_namespace && tag != DW_TAG_subprogram && !is_type)
		return;
	if (is_type && (!own || strncmp(own, "<lambda", 7) == 0)) {
		dwarf_decl_line(scope, &line);
		dwarf_decl_column(scope, &column);
		snprintf(name + len, size - len, "{lambda:%d:%d}::", line, column);
	} else {
		snprintf(name + len, size - len, "%s::", own ? own : "(anonymous)");
	}
}

#define MAX_SCOPES_BYTES 1024

/*
 * Return OWN, the name of DIE, after those of its namespaces, classes and functions; the caller
 * frees it.
 */
static char *
qualify(Dwarf_Die *die, const char *own)
{
	Dwarf_Die at, *scopes = NULL;
	char name[MAX_SCOPES_BYTES] = "";
	char *ret;
	int nr;

	find_declaration(die, &at);
	nr = dwarf_getscopes_die(&at, &scopes);
	/* The outermost is the unit, the first is DIE itself. */
	for (int i = nr - 1; i > 0; i--)
		add_scope(name, sizeof name, &scopes[i]);
	free(scopes);
	return asprintf(&ret, "%s%s", name, own) < 0 ? NULL : ret;
}

/* Return the name of the function DIE, which the caller frees; SYMBOL if DIE has no name. */
static char *
symbols_dwarf_name_of(Dwarf_Die *die, const char *symbol)
{
	Dwarf_Attribute attribute;
	const char *linkage = NULL, *name;
	char *demangled;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		linkage = dwarf_formstring(&attribute);
	if (!linkage)
		linkage = symbol;
	demangled = linkage ? demangle(linkage) : NULL;
	if (demangled)
		return demangled;
	name = dwarf_diename(die);
	if (name && !linkage && is_cxx(die))
		return qualify(die, name);
	if (!name)
		name = linkage;
	return name ? strdup(name) : NULL;
}

/* Find where the inlined function DIE is called. */
static void
call_site(Dwarf_Die *cu, Dwarf_Die *die, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word line = 0, file = 0;
	Dwarf_Files *files;
	size_t nr;

	*ret_file = NULL;
	*ret_line = 0;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) == 0)
		*ret_line = (uint32_t)line;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) == 0 &&
		dwarf_getsrcfiles(cu, &files, &nr) == 0 && file < nr)
		*ret_file = dwarf_filesrc(files, file, NULL, NULL);
}

/* Add the functions SCOPE to FRAME; SCOPE[0] is the outermost of NR. */
static int
add_lines(struct profile *p, uint32_t frame, Dwarf_Die *cu, Dwarf_Die *scope, int nr,
	const char *symbol, Dwarf_Addr pc, struct err *e)
{
	Dwarf_Line *source = dwarf_getsrc_die(cu, pc);
	const char *file = source ? dwarf_linesrc(source, NULL, NULL) : NULL;
	int line = 0;
	uint32_t at;

	if (source)
		dwarf_lineno(source, &line);
	at = line > 0 ? (uint32_t)line : 0;
	while (nr-- > 0) {
		auto_free char *name = symbols_dwarf_name_of(&scope[nr], nr ? NULL : symbol);

		if (profile_add_line(p, frame, name ? name : "?", file, at, e) < 0)
			return -1;
		call_site(cu, &scope[nr], &file, &at);
	}
	return 1;
}

/*
 * An address to look up: PC in the file of MOD, whose debug information is DBG; BIAS more in MOD.
 */
struct symbols_dwarf_place {
	Dwfl_Module *mod;
	Dwarf *dbg;
	Dwarf_Addr pc, bias;
};

/* Find the function of *CU at AT; *CU becomes the complete unit.  Returns as find_by_ranges(). */
static int
find_in_unit(
	struct dwarf_units *u, const struct symbols_dwarf_place *at, Dwarf_Die *cu, Dwarf_Die *ret)
{
	struct dwarf_unit *unit = find_unit(u, at->mod, cu);
	size_t nr;

	if (!unit)
		return -1;
	*cu = unit->all;
	nr = count_up_to(unit->functions.v, unit->functions.nr, at->pc);
	/* A function within another begins later. */
	while (nr-- > 0)
		if (at->pc < unit->functions.v[nr].end)
			return dwarf_offdie(dwarf_cu_getdwarf(unit->all.cu),
				       unit->functions.v[nr].die, ret) != NULL;
	return false;
}

/* Find the function at AT, and its unit.  Returns as find_by_ranges(). */
static int
symbols_dwarf_find_place(struct dwarf_units *u, const struct symbols_dwarf_place *at,
	Dwarf_Die *ret_cu, Dwarf_Die *ret)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(at->mod, at->pc + at->bias, &bias);
	int found = 0;

	if (cu) {
		*ret_cu = *cu;
		found = find_in_unit(u, at, ret_cu, ret);
	}
	if (found)
		return found;
	/* libdw takes a unit that it knows for all addresses up to the next one. */
	found = find_by_ranges(u, at->mod, at->dbg, at->pc, ret_cu);
	return found > 0 ? find_in_unit(u, at, ret_cu, ret) : found;
}

/*
 * Return whether DBG lacks a section that would take too much memory: libdw continues without a
 * section that it could not unpack, which stays compressed (libdw/dwarf_begin_elf.c,
 * check_section()).
 */
static bool
lacks_section(Dwarf *dbg)
{
	const uint64_t left = os_memory_left();
	Elf *elf = dwarf_getelf(dbg);
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));)
		if (gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_COMPRESSED &&
			gelf_getchdr(scn, &chdr) && chdr.ch_size > left)
			return true;
	return false;
}

int
dwarf_name_frame(struct dwarf_units *u, Dwfl_Module *mod, uint64_t pc, const char *symbol,
	struct profile *p, uint32_t frame, struct err *e)
{
	Dwarf_Die cu, scope[MAX_DEPTH];
	struct symbols_dwarf_place at = { .mod = mod };
	int nr = 1, found;

	at.dbg = dwfl_module_getdwarf(mod, &at.bias);
	if (!at.dbg)
		return 0;
	if (!u->is_complete && !u->lacks_memory) {
		*(lacks_section(at.dbg) ? &u->lacks_memory : &u->is_complete) = true;
		dwarf_new_oom_handler(at.dbg, os_end_without_memory);
	}
	at.pc = pc - at.bias;
	found = symbols_dwarf_find_place(u, &at, &cu, &scope[0]);
	if (found <= 0)
		return found ? err_set(e, ENOMEM, "cannot keep debug information") : 0;
	while (nr < MAX_DEPTH && find_inlined(&scope[nr - 1], at.pc, 0, &scope[nr]))
		nr++;
	return add_lines(p, frame, &cu, scope, nr, symbol, at.pc, e);
}
