/* The names of the kinds of leaves, and their groups. */
#include <config.h>

#include "maps/leaves.h"

#include <string.h>

static const char *const group_names[NR_GROUPS] = {
	[GROUP_STACK] = "stack",
	[GROUP_HEAP] = "heap",
	[GROUP_EXE] = "exe",
	[GROUP_SO] = ".so",
	[GROUP_FILE] = "file",
	[GROUP_SHM] = "shm",
	[GROUP_ANON] = "anon",
	[GROUP_RESERVE] = "reserve",
	[GROUP_KERNEL] = "kernel",
};

static const struct {
	const char *name;
	enum group group;
} kinds[NR_LEAF_KINDS] = {
	[LEAF_MAIN_STACK] = { "main stack", GROUP_STACK },
	[LEAF_THREAD_STACK] = { "thread stacks", GROUP_STACK },
	[LEAF_STACK_UNUSED] = { "unused stack", GROUP_STACK },
	[LEAF_STACK_TLS] = { "thread TLS", GROUP_STACK },
	[LEAF_STACK_GUARD] = { "stack guards", GROUP_STACK },
	[LEAF_CACHED_STACK] = { "cached stacks", GROUP_STACK },
	[LEAF_MAIN_HEAP] = { "main heap (brk)", GROUP_HEAP },
	[LEAF_MAIN_PIECE] = { "main heap (mmap)", GROUP_HEAP },
	[LEAF_ARENA] = { "thread arenas", GROUP_HEAP },
	[LEAF_ARENA_SHRUNK] = { "shrunk arena ends", GROUP_HEAP },
	[LEAF_ARENA_RESERVE] = { "arena reserve", GROUP_HEAP },
	[LEAF_CHUNK] = { "mmapped chunks", GROUP_HEAP },
	[LEAF_EXE_TEXT] = { "exe text", GROUP_EXE },
	[LEAF_EXE_RODATA] = { "exe rodata", GROUP_EXE },
	[LEAF_EXE_RELRO] = { "exe relro", GROUP_EXE },
	[LEAF_EXE_DATA] = { "exe data", GROUP_EXE },
	[LEAF_EXE_BSS] = { "exe bss", GROUP_EXE },
	[LEAF_EXE_PADDING] = { "exe padding", GROUP_EXE },
	[LEAF_SO_TEXT] = { ".so text", GROUP_SO },
	[LEAF_SO_RODATA] = { ".so rodata", GROUP_SO },
	[LEAF_SO_RELRO] = { ".so relro", GROUP_SO },
	[LEAF_SO_DATA] = { ".so data", GROUP_SO },
	[LEAF_SO_BSS] = { ".so bss", GROUP_SO },
	[LEAF_SO_PADDING] = { ".so padding", GROUP_SO },
	[LEAF_FILE_PRIVATE] = { "private files", GROUP_FILE },
	[LEAF_FILE_SHARED] = { "shared files", GROUP_FILE },
	[LEAF_FILE_DELETED] = { "deleted files", GROUP_FILE },
	[LEAF_SHM_SYSV] = { "System V shm", GROUP_SHM },
	[LEAF_SHM_POSIX] = { "POSIX shm", GROUP_SHM },
	[LEAF_SHM_MEMFD] = { "memfd", GROUP_SHM },
	[LEAF_SHM_JAVA] = { "Java heap (ZGC)", GROUP_SHM },
	[LEAF_SHM_ANON] = { "shared anonymous", GROUP_SHM },
	[LEAF_SHM_TMPFS] = { "files on tmpfs", GROUP_SHM },
	[LEAF_HUGETLB] = { "hugetlb", GROUP_ANON },
	[LEAF_NAMED] = { "named by the program", GROUP_ANON },
	[LEAF_GO_HEAP] = { "Go heap", GROUP_ANON },
	[LEAF_JAVA_HEAP] = { "Java heap", GROUP_ANON },
	[LEAF_MIMALLOC_HEAP] = { "mimalloc heap", GROUP_ANON },
	[LEAF_JIT] = { "JIT code", GROUP_ANON },
	[LEAF_ANON_SMALL] = { "anon under 1 MiB", GROUP_ANON },
	[LEAF_ANON_MEDIUM] = { "anon 1-64 MiB", GROUP_ANON },
	[LEAF_ANON_LARGE] = { "anon over 64 MiB", GROUP_ANON },
	[LEAF_RESERVE] = { "reserve", GROUP_RESERVE },
	[LEAF_VDSO] = { "vdso and the like", GROUP_KERNEL },
	[LEAF_DEVICE] = { "devices, io_uring", GROUP_KERNEL },
};

const char *
group_name(enum group g)
{
	return group_names[g];
}

const char *
leaf_kind_name(enum leaf_kind k)
{
	return kinds[k].name;
}

const char *
leaf_label(const char *name)
{
	static const char *const labels[NR_LEAF_KINDS] = {
		[LEAF_ANON_SMALL] = "anon mappings under 1 MiB",
		[LEAF_ANON_MEDIUM] = "anon mappings of 1-64 MiB",
		[LEAF_ANON_LARGE] = "anon mappings over 64 MiB",
	};

	for (int k = 0; k < NR_LEAF_KINDS; k++)
		if (labels[k] && strcmp(name, kinds[k].name) == 0)
			return labels[k];
	return name;
}

enum group
leaf_kind_group(enum leaf_kind k)
{
	return kinds[k].group;
}

const char *
confidence_name(enum confidence c)
{
	static const char *const names[] = { "guess", "verified", "exact" };

	return names[c];
}
