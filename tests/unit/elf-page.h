/*
 * elf-page: an ELF object of one page in our own memory, with code that a test puts there.
 */
#ifndef MEMDIAG_TESTS_ELF_PAGE_H
#define MEMDIAG_TESTS_ELF_PAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

struct elf_page {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	Elf64_Dyn dyn[5];
	Elf64_Sym sym[3];
	uint32_t hash[2 + 1 + 3]; /* buckets, symbols; what they hold is not asked */
	char names[3][32];	  /* the last one is the empty name */
	uint32_t code[64];
	uint64_t got;
};

_Static_assert(sizeof(struct elf_page) <= 4096, "one page");

/* A page for it, or NULL. */
static inline struct elf_page *
elf_page_map(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Make it a shared object for MACHINE in which both NAMEs are functions at the code's beginning. */
static inline void
elf_page_fill(struct elf_page *p, int machine, const char *const name[2])
{
	const uint64_t dyn = offsetof(struct elf_page, dyn), code = offsetof(struct elf_page, code);
	const unsigned char function = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);

	*p = (struct elf_page){
		.ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = (Elf64_Half)machine,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct elf_page, phdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2 },
		.phdr = { { PT_LOAD, PF_R | PF_X, 0, 0, 0, sizeof *p, sizeof *p, 4096 },
			{ PT_DYNAMIC, PF_R, dyn, dyn, 0, sizeof p->dyn, sizeof p->dyn, 8 } },
		.dyn = { { DT_SYMTAB, { offsetof(struct elf_page, sym) } },
			{ DT_STRTAB, { offsetof(struct elf_page, names) } },
			{ DT_STRSZ, { sizeof p->names } },
			{ DT_HASH, { offsetof(struct elf_page, hash) } } },
		.sym = { { .st_name = 2 * sizeof *p->names }, { 0, function, 0, 1, code, 8 },
			{ sizeof *p->names, function, 0, 1, code, 8 } },
		.hash = { 1, 3 },
	};
	for (int i = 0; i < 2; i++)
		memcpy(p->names[i], name[i], strlen(name[i]) + 1);
}

#endif
