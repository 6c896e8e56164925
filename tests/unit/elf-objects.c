#include <config.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "os/os.h"
#include "os/target.h"
#include "tap.h"

static int in_bss[4096];

static bool
find(struct regions *m, struct objects *o, struct target *t)
{
	struct err e = { 0 };

	if (target_open(t, getpid(), &e) < 0 || regions_read(m, t, &e) < 0 ||
		objects_find(o, m, t, NULL, NULL, &e) < 0) {
		printf("# %s\n", e.msg);
		return false;
	}
	return true;
}

static void
test_ourselves(void)
{
	auto_target struct target t = TARGET_NONE;
	auto_regions struct regions m = { 0 };
	auto_objects struct objects o = { 0 };
	const struct object *us, *libc;
	int executables = 0, loaders = 0, libcs = 0;
	bool sorted = true;

	ok(find(&m, &o, &t), "our own objects");
	us = objects_at(&o, (raddr){ (uintptr_t)in_bss });
	ok(us && us->is_executable, "our bss lies in the program");
	libc = objects_at(&o, (raddr){ (uintptr_t)gnu_get_libc_version });
	ok(libc && libc->is_libc, "a function of libc lies in libc");
	for (size_t i = 0; i < o.nr; i++) {
		executables += o.v[i].is_executable;
		loaders += o.v[i].is_loader;
		libcs += o.v[i].is_libc;
		sorted &= !i || o.v[i - 1].end.v <= o.v[i].start.v;
	}
	ok(executables == 1 && loaders == 1 && libcs == 1, "one program, one ld.so, one libc");
	ok(sorted, "sorted and apart");
	ok(objects_at(&o, (raddr){ (uintptr_t)&m }) == NULL, "the stack is no object");
	ok(objects_at(&o, (raddr){ 0 }) == NULL, "nor is nothing");
	is_u64(o.vdso.v, getauxval(AT_SYSINFO_EHDR), "where the vdso is");
}

/*
 * Images of objects that are mapped still are those of before; what is mapped now is what counts.
 */
static void
test_known(void)
{
	auto_target struct target t = TARGET_NONE;
	auto_regions struct regions m = { 0 }, m2 = { 0 };
	auto_objects struct objects o = { 0 }, o2 = { 0 };
	void *lib = dlopen("libutil.so.1", RTLD_NOW);
	size_t nr_shared = 0;
	const struct object *libc;
	struct image_symbol s;
	struct err e = { 0 };

	ok(lib && find(&m, &o, &t), "objects with a library");
	dlclose(lib);
	ok(regions_read(&m2, &t, &e) == 0 && objects_find(&o2, &m2, &t, &o, NULL, &e) == 0,
		"and without it %s", e.msg);
	is_u64(o2.nr, o.nr - 1, "one less");
	for (size_t i = 0; i < o2.nr; i++) {
		const struct object *before = objects_at(&o, o2.v[i].start);

		nr_shared += before && before->image == o2.v[i].image;
	}
	is_u64(nr_shared, o2.nr, "the others are not opened again");
	objects_release(&o);
	regions_release(&m);
	libc = objects_at(&o2, (raddr){ (uintptr_t)gnu_get_libc_version });
	ok(libc && libc->is_libc && libc->path && strstr(libc->path, "libc"),
		"they are described as before");
	ok(libc && image_find(libc->image, "malloc", &s) == 0, "and outlive the first list");
	/* At the address of libc there may be another file now. */
	for (size_t i = 0; i < o2.nr; i++)
		o2.v[i].inode++;
	ok(objects_find(&o, &m2, &t, &o2, NULL, &e) == 0 && o.nr == o2.nr &&
			o.v[0].image != o2.v[0].image,
		"another file is another object");
}

/* A file of one page with TEXT in it, mapped with PROT; *RET_FD is its descriptor. */
static void *
map_file(void *at, const char *text, int prot, int *ret_fd)
{
	int fd = memfd_create("x", 0);
	void *p;

	if (ftruncate(fd, 4096) < 0 || pwrite(fd, text, strlen(text), 0) < 0)
		return NULL;
	p = mmap(at, 4096, prot, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	*ret_fd = fd;
	return p;
}

/* Whether the page at P is in our page tables (Documentation/admin-guide/mm/pagemap.rst). */
static bool
is_present(const void *p)
{
	auto_fd int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	if (pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)p / 4096 * sizeof entry)) < 0)
		return true;
	return entry >> 63;
}

static void
test_not_objects(void)
{
	auto_target struct target t = TARGET_NONE;
	auto_regions struct regions m = { 0 };
	auto_objects struct objects o = { 0 };
	auto_fd int script_fd = -1, cut_fd = -1, data_fd = -1;
	/*
	 * In a place of our own: ld.so of 2.31 has a page between its segments that the kernel
	 * gives to others.
	 */
	char *place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *script = map_file(place, "#!/bin/sh\n", PROT_READ | PROT_EXEC, &script_fd);
	void *cut = map_file(place + 8192, "\177ELF\002\001\001", PROT_READ | PROT_EXEC, &cut_fd);
	void *data = map_file(place + 16384, "\177ELF\002\001\001", PROT_READ, &data_fd);

	ok(find(&m, &o, &t), "with files that are no objects");
	ok(!objects_at(&o, (raddr){ (uintptr_t)script }), "an executable mapping of a script");
	ok(!objects_at(&o, (raddr){ (uintptr_t)cut }), "an ELF header that is cut");
	ok(!objects_at(&o, (raddr){ (uintptr_t)data }), "data");
	ok(!is_present(data), "whose pages nobody has touched");
}

static void
test_many(void)
{
	auto_target struct target t = TARGET_NONE;
	auto_regions struct regions m = { 0 };
	auto_objects struct objects o = { 0 };
	void *last = NULL;

	for (int i = 0; i < 20000; i++) {
		int fd = -1;

		last = map_file(NULL, "data", PROT_READ | (i & 1 ? PROT_WRITE : 0), &fd);
		close(fd);
		if (last == MAP_FAILED)
			break;
	}
	ok(last != MAP_FAILED, "20,000 files mapped");
	ok(find(&m, &o, &t), "and looked through");
	ok(objects_at(&o, (raddr){ (uintptr_t)gnu_get_libc_version }) != NULL,
		"libc is found among them");
}

int
main(void)
{
	in_bss[0] = 1;
	test_ourselves();
	test_known();
	test_not_objects();
	test_many();
	return tap_end();
}
