/*
 * The same object read from its file and from memory says the same, and what it says is what the
 * dynamic linker of this very process says.
 */
#define _GNU_SOURCE
#include <config.h>

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/symbols.h"
#include "os/os.h"
#include "os/target.h"
#include "tap.h"

static void
find_libc(char *path, size_t size, raddr *ret_base)
{
	Dl_info info;
	char *real;

	dladdr((void *)malloc_trim, &info);
	real = realpath(info.dli_fname, NULL);
	snprintf(path, size, "%s", real);
	free(real);
	*ret_base = (raddr){ (uintptr_t)info.dli_fbase };
}

static void
same_as_dlsym(const struct image *im, const char *name)
{
	/* Not RTLD_DEFAULT: a sanitizer has functions of the same name in front. */
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct image_symbol s = { 0 };

	ok(image_find(im, name, &s) == 0, "%s is found", name);
	is_u64(s.addr.v, (uintptr_t)dlsym(libc, name), "  at the address dlsym gives");
}

static int
count(const char *name, const struct image_symbol *s, void *arg)
{
	(void)s;
	*(int *)arg += strcmp(name, "malloc_info") == 0;
	return 0;
}

static void
check_libc(const struct image *im)
{
	struct image_symbol s;
	int nr = 0;

	is_str(image_soname(im), "libc.so.6", "the soname");
	same_as_dlsym(im, "malloc");
	same_as_dlsym(im, "malloc_info");
	same_as_dlsym(im, "malloc_trim");
#if __GLIBC_PREREQ(2, 34) /* before, in another library than libc */
	same_as_dlsym(im, "pthread_create");
#endif
	same_as_dlsym(im, "_IO_2_1_stderr_");
	ok(image_find(im, "no_such_function", &s) < 0, "what is not there is not found");
	ok(image_find(im, "__gmon_start__", &s) < 0, "an undefined symbol is not found");
	image_each(im, count, &nr);
	is_u64((uint64_t)nr, 1, "a walk over all symbols meets malloc_info once");
}

/* Initialised data of this very program, which has changed since. */
static void *volatile pointer = (void *)&pointer;
static volatile uint32_t number = 0x12345678;

static int
see_pointer(raddr at, raddr to, void *arg)
{
	*(int *)arg += at.v == (uintptr_t)&pointer && to.v == (uintptr_t)&pointer;
	return 0;
}

static int
nr_seen(const struct image *im)
{
	int nr = 0;

	image_each_pointer(im, see_pointer, &nr);
	return nr;
}

static void
test_initialisers(const struct target *t)
{
	struct image *file = NULL, *memory = NULL;
	const unsigned char *bytes;
	raddr at = { (uintptr_t)&number };
	uint32_t initial = 0;
	char path[4096];
	struct stat st;
	Dl_info info;
	struct err e;

	pointer = NULL;
	number = 0;
	dladdr((void *)&number, &info);
	stat("/proc/self/exe", &st);
	ok(realpath("/proc/self/exe", path) &&
			image_open(&file, t, (raddr){ (uintptr_t)info.dli_fbase }, (raddr){ 0 },
				path, st.st_dev, st.st_ino, &e) == 0 &&
			image_open(&memory, t, (raddr){ (uintptr_t)info.dli_fbase }, (raddr){ 0 },
				NULL, 0, 0, &e) == 0,
		"this program is an object");
	bytes = image_initial(file, at, sizeof initial);
	if (ok(bytes, "its data can be seen as it was"))
		memcpy(&initial, bytes, sizeof initial);
	is_u64(initial, 0x12345678, "before it was written to");
	ok(!image_initial(memory, at, sizeof initial), "memory does not know");
	ok(!image_initial(file, at, 1 << 20), "nor has the file what is beyond the segment");
	ok(nr_seen(file) >= 1, "a pointer is seen as it was initialised");
#ifdef __PIE__
	ok(nr_seen(memory) == 1, "in memory by its relocation");
#endif
	image_free(file);
	image_free(memory);
}

/* Whose symbols are in sections of its file; of static-pie libc's malloc is a local one. */
static void
check_static(const char *name)
{
	static const char *const wanted[] = { "main", "malloc", "munmap", "malloc_info" };
	const char *build = getenv("top_builddir");
	struct image *im = NULL;
	struct image_symbol s;
	char path[4096];
	struct err e;

	snprintf(path, sizeof path, "%s/tests/tracees/%s", build ? build : ".", name);
	if (!ok(image_open_file(&im, path, &e) == 0, "%s can be opened", name))
		return;
	ok(image_is_static(im) && image_has_symbols(im), "  it is static, with symbols");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		ok(image_find(im, wanted[i], &s) == 0 && s.type == STT_FUNC && s.size_bytes,
			"  %s is found", wanted[i]);
	ok(image_find(im, "errno", &s) == 0 && s.type == STT_TLS && s.addr.v < 4096,
		"  errno is found, by its offset");
	ok(image_find(im, "ledger.c", &s) < 0, "  the name of a source file is no symbol");
	image_free(im);
}

int
main(void)
{
	struct target t = TARGET_NONE;
	struct image *file = NULL, *memory = NULL, *none = NULL;
	struct err e = { 0 };
	struct stat st;
	char path[4096], id[2][64];
	raddr base, start, end;

	find_libc(path, sizeof path, &base);
	stat(path, &st);
	ok(target_open(&t, getpid(), &e) == 0, "we can look at ourselves %s", e.msg);
	ok(image_open(&file, &t, base, (raddr){ 0 }, path, st.st_dev, st.st_ino, &e) == 0,
		"from the file %s", e.msg);
	ok(!image_is_from_memory(file), "the file was taken");
	ok(!image_is_static(file), "libc is no static program");
	check_static("ledger-static");
	check_static("ledger-static-pie");
	check_libc(file);
	ok(image_open(&memory, &t, base, (raddr){ 0 }, path, st.st_dev, st.st_ino + 1, &e) == 0,
		"from memory, as another file is there now %s", e.msg);
	ok(image_is_from_memory(memory), "memory was taken");
	check_libc(memory);
	image_build_id(file, id[0], sizeof id[0]);
	image_build_id(memory, id[1], sizeof id[1]);
	ok(strlen(id[0]) == 40, "a build-id of 20 bytes: %s", id[0]);
	is_str(id[1], id[0], "the same from memory");
	image_extent(memory, &start, &end);
	ok(raddr_in((raddr){ (uintptr_t)malloc_trim }, start, end), "the extent holds malloc_trim");
	ok(raddr_in((raddr){ (uintptr_t)stderr }, start, end), "and stderr, which is data");
	ok(image_open(&none, &t, (raddr){ (uintptr_t)path & ~0xfffULL }, (raddr){ 0 }, NULL, 0, 0,
		   &e) < 0,
		"memory without an ELF header is refused: %s", e.msg);
	ok(image_open(&none, &t, (raddr){ 4096 }, (raddr){ 0 }, NULL, 0, 0, &e) < 0,
		"so is memory that is not mapped: %s", e.msg);
	test_initialisers(&t);
	image_free(file);
	image_free(memory);
	image_free(NULL);
	target_release(&t);
	return tap_end();
}
