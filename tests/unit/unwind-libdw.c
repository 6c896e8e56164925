/*
 * src/unwind and elfutils' libdw get the same results from .eh_frame: for every row of real
 * objects, the CFA, the return address, and the frame pointer of a caller are the same, for
 * random registers and a random stack.
 *
 * The index that is made for an object without .eh_frame_hdr is the table that linkers make.
 *
 *	unwind-libdw [FILE...]
 */
#include <config.h>

#include <elfutils/libdw.h>
#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/expression.h"
#include "unwind/index.h"
#include "unwind/objects-priv.h"
#include "unwind/program.h"
#include "unwind/rule.h"
#include "unwind/tables.h"
#include "unwind/unwind-priv.h"
#include "unwind/unwind.h"
#include "tap.h"

/* ---- an object, mapped as ld.so does, but for its data ---- */

struct mapped {
	uintptr_t bias;
	size_t bytes;
	struct unwind_object o;
	uint8_t *at;
};

static bool
map_object(struct mapped *m, Elf *elf, int fd)
{
	GElf_Phdr p[64];
	size_t nr, end = 0, start = SIZE_MAX;

	if (elf_getphdrnum(elf, &nr) < 0 || nr > 64)
		return false;
	for (size_t i = 0; i < nr; i++) {
		gelf_getphdr(elf, (int)i, &p[i]);
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > end)
			end = p[i].p_vaddr + p[i].p_memsz;
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr < start)
			start = p[i].p_vaddr & ~UINT64_C(4095);
	}
	m->bytes = end - start;
	m->at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->at == MAP_FAILED)
		return false;
	m->bias = (uintptr_t)m->at - start;
	for (size_t i = 0; i < nr; i++)
		if (p[i].p_type == PT_LOAD && !(p[i].p_flags & PF_W) &&
			pread(fd, (void *)(m->bias + p[i].p_vaddr), p[i].p_filesz,
				(off_t)p[i].p_offset) < 0)
			return false;
	return unwind_object_init(&m->o, m->bias, p, nr);
}

/* ---- libdw's answer ---- */

/* A frame: registers, and a stack that they point into. */
static union {
	uint8_t byte[1 << 16];
	uint64_t word[(1 << 16) / 8];
} stack;
static struct unwind_context frame;

static bool
word_at(uint64_t at, uint64_t *ret)
{
	if (at < (uintptr_t)&stack || at > (uintptr_t)(&stack + 1) - 8)
		return false;
	memcpy(ret, (void *)(uintptr_t)at, 8);
	return true;
}

static uint64_t
apply(Dwarf_Op op, uint64_t a, uint64_t b)
{
	switch (op.atom) {
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_and:
		return a & b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_or:
		return a | b;
	case DW_OP_shl:
		return a << b;
	case DW_OP_ge:
		return (int64_t)a >= (int64_t)b;
	default:
		printf("# operation %#x\n", op.atom);
		abort();
	}
}

/*
 * 0: unknown; 1: a value; 2: an address. What operations are not here no object is known to have.
 */
static int
evaluate(const Dwarf_Op *op, size_t nr, uint64_t cfa, uint64_t *ret)
{
	uint64_t v[16] = { 0 };
	size_t n = 0;
	int is_value = 2;

	for (size_t i = 0; i < nr; i++) {
		const unsigned int reg = op[i].atom - DW_OP_breg0;

		if (n >= 15)
			abort();
		if (op[i].atom == DW_OP_call_frame_cfa) {
			v[n++] = cfa;
		} else if (op[i].atom == DW_OP_fbreg) { /* libdw's word for it: the CFA, plus */
			v[n++] = cfa + op[i].number;
		} else if (op[i].atom >= DW_OP_breg0 && op[i].atom <= DW_OP_breg31) {
			if (reg >= UNWIND_NR_REGS)
				return 0;
			v[n++] = frame.reg[reg] + op[i].number;
		} else if (op[i].atom == DW_OP_bregx) {
			if (op[i].number >= UNWIND_NR_REGS)
				return 0;
			v[n++] = frame.reg[op[i].number] + op[i].number2;
		} else if (op[i].atom >= DW_OP_lit0 && op[i].atom <= DW_OP_lit31) {
			v[n++] = op[i].atom - DW_OP_lit0;
		} else if (op[i].atom >= DW_OP_const1u && op[i].atom <= DW_OP_consts) {
			v[n++] = op[i].number;
		} else if (op[i].atom == DW_OP_deref) {
			if (!word_at(v[n - 1], &v[n - 1]))
				return 0;
		} else if (op[i].atom == DW_OP_plus_uconst) {
			v[n - 1] += op[i].number;
		} else if (op[i].atom == DW_OP_stack_value) {
			is_value = 1;
		} else {
			v[n - 2] = apply(op[i], v[n - 2], v[n - 1]);
			n--;
		}
	}
	*ret = v[n - 1];
	return is_value;
}

/* Register R of the caller. False: unknown, or undefined. */
static bool
libdw_register(Dwarf_Frame *f, unsigned int r, uint64_t cfa, uint64_t *ret)
{
	Dwarf_Op own[3], *op;
	size_t nr;
	int kind;

	if (dwarf_frame_register(f, (int)r, own, &op, &nr) != 0)
		abort();
	if (!nr) {
		*ret = frame.reg[r];
		return op == NULL;
	}
	if (op[0].atom >= DW_OP_reg0 && op[0].atom <= DW_OP_reg31) {
		*ret = frame.reg[op[0].atom - DW_OP_reg0];
		return true;
	}
	if (op[0].atom == DW_OP_regx) {
		*ret = op[0].number < UNWIND_NR_REGS ? frame.reg[op[0].number] : 0;
		return op[0].number < UNWIND_NR_REGS;
	}
	kind = evaluate(op, nr, cfa, ret);
	return kind == 1 || (kind == 2 && word_at(*ret, ret));
}

/* ---- ours ---- */

struct caller {
	bool has_cfa, has_pc, has_fp;
	uint64_t cfa, pc, fp;
};

static struct caller
by_libdw(Dwarf_Frame *f)
{
	struct caller c = { 0 };
	Dwarf_Op *op;
	size_t nr;
	bool is_signal;

	dwarf_frame_info(f, NULL, NULL, &is_signal);
	if (dwarf_frame_cfa(f, &op, &nr) != 0)
		return c;
	c.has_cfa = evaluate(op, nr, 0, &c.cfa) != 0;
	c.has_pc = c.has_cfa && libdw_register(f, UNWIND_RA, c.cfa, &c.pc);
	c.has_fp = c.has_cfa && libdw_register(f, UNWIND_FP, c.cfa, &c.fp);
	return c;
}

/* As step.c has it. */
static bool
our_register(const struct unwind_row *row, unsigned int r, uint64_t cfa, uint64_t *ret)
{
	uint64_t at = cfa + (uint64_t)row->at[r];

	switch (row->how[r]) {
	case HOW_SAME:
		*ret = frame.reg[r];
		return true;
	case HOW_OFFSET:
		return unwind_read(&frame, at, ret);
	case HOW_VALUE:
		*ret = at;
		return true;
	case HOW_REGISTER:
		*ret = frame.reg[row->at[r]];
		return true;
	case HOW_EXPRESSION:
		return unwind_evaluate(&frame, unwind_row_expression(row, r), &cfa, &at) &&
			unwind_read(&frame, at, ret);
	case HOW_VALUE_EXPRESSION:
		return unwind_evaluate(&frame, unwind_row_expression(row, r), &cfa, ret);
	default:
		return false;
	}
}

static struct caller
by_row(const struct unwind_row *row)
{
	struct caller c = { 0 };

	if (row->has_cfa_expression) {
		c.has_cfa = unwind_evaluate(&frame, row->cfa_expression, NULL, &c.cfa);
	} else if (row->cfa_reg < UNWIND_NR_REGS) {
		c.has_cfa = true;
		c.cfa = frame.reg[row->cfa_reg] + (uint64_t)row->cfa_at;
	}
	c.has_pc = c.has_cfa && our_register(row, UNWIND_RA, c.cfa, &c.pc);
	c.has_fp = c.has_cfa && our_register(row, UNWIND_FP, c.cfa, &c.fp);
	return c;
}

/* The caller's registers by RULE, as walk.c and step.c compute them. */
static struct caller
by_rule(unwind_rule rule)
{
	const uint32_t how = unwind_rule_how(rule);
	struct caller c = { 0 };
	const bool is_realigned = unwind_rule_kind(rule) == RULE_REALIGNED;

	c.has_cfa = true;
	c.cfa = frame.reg[unwind_rule_is_from_fp(rule) ? UNWIND_FP : UNWIND_SP] +
		unwind_rule_cfa_at(rule);
	if (is_realigned)
		c.has_cfa = word_at(c.cfa, &c.cfa);
	c.has_pc = c.has_cfa && word_at(c.cfa - unwind_how_ra_at(how), &c.pc);
	c.fp = frame.reg[UNWIND_FP];
	if (is_realigned)
		c.has_fp = c.has_cfa && word_at(c.fp, &c.fp);
	else
		c.has_fp = !unwind_how_fp_mask(how) ||
			(c.has_cfa && word_at(c.cfa - unwind_how_fp_at(how), &c.fp));
	return c;
}

static bool
is_same(struct caller a, struct caller b)
{
	return a.has_cfa == b.has_cfa && a.has_pc == b.has_pc && a.has_fp == b.has_fp &&
		(!a.has_cfa || a.cfa == b.cfa) && (!a.has_pc || a.pc == b.pc) &&
		(!a.has_fp || a.fp == b.fp);
}

/* ---- rows ---- */

static struct {
	uint64_t rows, plain, realigned, outermost, odd, wrong, missing;
	uint64_t bytes, odd_bytes; /* of code */
} sum;

static uint64_t
random_number(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Registers that may be addresses in the middle of the stack, and words of it that may. */
static void
make_frame(uint64_t pc)
{
	const uintptr_t middle = (uintptr_t)&stack + sizeof stack / 2;

	for (int i = 0; i < 64; i++)
		stack.word[random_number() % (sizeof stack / 8)] =
			middle + random_number() % 4096 * 8;
	for (unsigned int i = 0; i < UNWIND_NR_REGS; i++)
		frame.reg[i] = middle + random_number() % 2048 * 8 - 8192;
	frame.reg[UNWIND_RA] = pc;
	frame.known = ~UINT64_C(0);
	frame.bounds = (struct unwind_bounds){ (uintptr_t)&stack, (uintptr_t)(&stack + 1) };
}

static void
complain(const char *what, uint64_t pc, struct caller got, struct caller want)
{
	if (sum.wrong++ > 5)
		return;
	printf("# %s at %#" PRIx64 ": CFA %d %#" PRIx64 " PC %d %#" PRIx64 " FP %d %#" PRIx64 "\n"
	       "#  libdw: CFA %d %#" PRIx64 " PC %d %#" PRIx64 " FP %d %#" PRIx64 "\n",
		what, pc, got.has_cfa, got.cfa, got.has_pc, got.pc, got.has_fp, got.fp,
		want.has_cfa, want.cfa, want.has_pc, want.pc, want.has_fp, want.fp);
}

static void
compare(const struct mapped *m, Dwarf_Frame *f, uint64_t pc, uint64_t size)
{
	struct unwind_row row;
	struct caller want;
	unwind_rule rule;

	make_frame(pc + m->bias);
	want = by_libdw(f);
	sum.rows++;
	sum.bytes += size;
	if (!unwind_find_row(&m->o, pc + m->bias, &row)) {
		sum.missing++;
		complain("no row", pc, (struct caller){ 0 }, want);
		return;
	}
	if (!is_same(by_row(&row), want))
		complain("row", pc, by_row(&row), want);
	rule = unwind_rule_of(&row, pc + m->bias);
	switch (unwind_rule_kind(rule)) {
	case RULE_REALIGNED:
		sum.realigned++;
		sum.plain--;
		/* fallthrough */
	case RULE_PLAIN:
		sum.plain++;
		if (!is_same(by_rule(rule), want))
			complain("rule", pc, by_rule(rule), want);
		break;
	case RULE_OUTERMOST:
		sum.outermost++;
		if (want.has_pc)
			complain("outermost", pc, (struct caller){ 0 }, want);
		break;
	default:
		sum.odd++;
		sum.odd_bytes += size;
	}
}

/*
 * All rows from PC to LIMIT, and three addresses in each: in PLT entries an expression has the
 * address in it.
 */
static void
compare_function(const struct mapped *m, Dwarf_CFI *cfi, uint64_t pc, uint64_t limit)
{
	Dwarf_Frame *f;
	Dwarf_Addr start, end;
	bool is_signal;

	while (pc < limit && dwarf_cfi_addrframe(cfi, pc, &f) == 0) {
		dwarf_frame_info(f, &start, &end, &is_signal);
		if (pc < start || end <= pc) {
			free(f);
			break;
		}
		compare(m, f, pc, end - pc);
		for (uint64_t n = 0; n < 3; n++) {
			uint64_t other = pc + random_number() % (end - pc);

			compare(m, f, other, 0);
		}
		free(f);
		pc = end;
	}
}

/* The functions of an object by address, as its linker or the index has them. */
struct functions {
	const uint8_t *table;
	uint32_t nr;
	uint64_t base; /* of its entries, as the file has it */
};

static struct functions
functions_of_header(const struct mapped *m)
{
	struct functions f = { m->o.header + 12, 0, (uintptr_t)m->o.header - m->bias };

	memcpy(&f.nr, m->o.header + 8, sizeof f.nr);
	return f;
}

static struct functions
functions_of_index(const struct mapped *m)
{
	return (struct functions){ (const uint8_t *)m->o.index, m->o.nr_index,
		m->o.start - m->bias };
}

/* PART 0: where the Ith function begins; 1: where its frame description entry is. */
static uint64_t
function_at(const struct functions *f, size_t i, unsigned int part)
{
	int32_t at;

	memcpy(&at, f->table + 8 * i + 4 * part, sizeof at);
	return f->base + (uint64_t)(int64_t)at;
}

static void *
map_index(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Give M the index that a program without .eh_frame_hdr gets. */
static void
make_index(struct mapped *m, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr s;
	size_t names;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &s) &&
			strcmp(elf_strptr(elf, names, s.sh_name), ".eh_frame") == 0)
			unwind_index_make(
				&m->o, (const void *)(m->bias + s.sh_addr), s.sh_size, map_index);
}

static bool
is_linkers(const struct mapped *m)
{
	const struct functions ours = functions_of_index(m), theirs = functions_of_header(m);

	for (uint32_t i = 0; i < ours.nr && i < theirs.nr; i++)
		if (function_at(&ours, i, 0) != function_at(&theirs, i, 0) ||
			function_at(&ours, i, 1) != function_at(&theirs, i, 1)) {
			printf("# function %u is another\n", i);
			return false;
		}
	printf("# %u functions, by the linker %u\n", ours.nr, theirs.nr);
	return ours.nr == theirs.nr;
}

static void
compare_object(const char *path)
{
	const int fd = open(path, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	struct functions f;
	struct mapped m;

	memset(&sum, 0, sizeof sum);
	if (!cfi || !map_object(&m, elf, fd)) {
		skip(path, "it has no unwind tables");
		return;
	}
	make_index(&m, elf);
	if (m.o.header)
		ok(is_linkers(&m), "%s: the index that is made is its linker's", path);
	f = m.o.header ? functions_of_header(&m) : functions_of_index(&m);
	for (uint32_t i = 0; i < f.nr; i++)
		compare_function(&m, cfi, function_at(&f, i, 0),
			i + 1 < f.nr ? function_at(&f, i + 1, 0) : UINT64_MAX);
	ok(!sum.wrong && sum.rows > 0, "%s: %" PRIu64 " addresses, %" PRIu64 " of them wrong", path,
		sum.rows, sum.wrong);
	printf("#   rules: %" PRIu64 " plain, %" PRIu64 " realigned, %" PRIu64
	       " outermost, %" PRIu64 " odd (%.4f %% of the code)\n",
		sum.plain, sum.realigned, sum.outermost, sum.odd,
		100.0 * (double)sum.odd_bytes / (double)(sum.bytes ? sum.bytes : 1));
	dwarf_cfi_end(cfi);
	elf_end(elf);
	munmap(m.at, m.bytes);
	close(fd);
}

int
main(int argc, char **argv)
{
	static const char *const usual[] = { "/lib*/*/libc.so.6", "/lib64/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2", "/usr/lib*/*/libstdc++.so.6",
		"/usr/lib64/libstdc++.so.6", "/usr/lib*/*/libcrypto.so.3",
		"/usr/lib64/libcrypto.so.3", "/usr/bin/python3" };
	const struct unwind_host host = { .map = map_index, .page_bytes = 4096 };
	const char *build = getenv("top_builddir");
	char linked[PATH_MAX];
	glob_t found = { 0 };

	elf_version(EV_CURRENT);
	unwind_objects_start(&host);
	for (int i = 1; i < argc; i++)
		compare_object(argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof usual / sizeof *usual; i++)
		glob(usual[i], i ? GLOB_APPEND : 0, NULL, &found);
	/* It has no .eh_frame_hdr with most builds of gcc. */
	snprintf(linked, sizeof linked, "%s/tests/tracees/ledger-static", build ? build : ".");
	if (argc == 1)
		glob(linked, GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		compare_object(found.gl_pathv[i]);
	if (argc == 1)
		globfree(&found);
	return tap_end();
}
