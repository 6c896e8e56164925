/*
 * The same object read from its file and from memory says the same, and what it says is what the
 * dynamic linker of this very process says.
 */
#define _GNU_SOURCE
#include <config.h>

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/regions.h"
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
			image_open(&file, t,
				&(struct region){ .start = { (uintptr_t)info.dli_fbase },
					.path = path,
					.dev = st.st_dev,
					.inode = st.st_ino },
				NULL, &e) == 0 &&
			image_open(&memory, t,
				&(struct region){ .start = { (uintptr_t)info.dli_fbase } }, NULL,
				&e) == 0,
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

static size_t
nr_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t nr = 0;

	while (d && readdir(d))
		nr++;
	closedir(d);
	return nr;
}

/* Map FILE, which is at PATH, as ld.so maps an object. */
static struct region
map_file(int file, const char *path)
{
	struct stat st;
	char *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);

	fstat(file, &st);
	return (struct region){
		.start = { (uintptr_t)at },
		.end = { (uintptr_t)at + 4096 },
		.path = path,
		.dev = st.st_dev,
		.inode = st.st_ino,
	};
}

/* Objects of one file share its bytes, until the file is written to. */
static void
test_files(const struct target *t, const char *libc)
{
	char path[] = "/tmp/elf-image-XXXXXX", command[8192];
	const int file = mkstemp(path);
	struct image_files files = { 0 };
	struct image *one = NULL, *two = NULL, *other = NULL;
	struct image_symbol s1 = { 0 }, s2 = { 0 };
	struct region r1, r2;
	size_t before;
	struct err e = { 0 };

	snprintf(command, sizeof command, "cat '%s' >%s", libc, path);
	ok(file >= 0 && system(command) == 0, "a copy of libc");
	r1 = map_file(file, path);
	r2 = map_file(file, path);
	before = nr_descriptors();
	ok(image_open(&one, t, &r1, &files, &e) == 0 && image_open(&two, t, &r2, &files, &e) == 0,
		"it is opened where it is mapped twice %s", e.msg);
	is_u64(nr_descriptors(), before + 1, "with one descriptor");
	ok(image_find(one, "malloc", &s1) == 0 && image_find(two, "malloc", &s2) == 0,
		"both have malloc");
	is_u64(s2.addr.v - s1.addr.v, r2.start.v - r1.start.v, "each at its own address");
	ok(pwrite(file, "x", 1, lseek(file, 0, SEEK_END)) == 1, "the file is written to");
	ok(image_open(&other, t, &r1, &files, &e) == 0, "it is opened again %s", e.msg);
	is_u64(nr_descriptors(), before + 2, "as another file");
	image_free(one);
	ok(image_find(two, "free", &s2) == 0, "what one of two gives up the other has");
	image_free(two);
	is_u64(nr_descriptors(), before + 1, "the last one closes it");
	ok(files.first && image_find(other, "malloc", &s2) == 0 && s2.addr.v == s1.addr.v,
		"the other file is still there");
	image_free(other);
	is_u64(nr_descriptors(), before, "and is closed, too");
	ok(!files.first, "no file is left");
	ok(pwrite(file, "none", 4, 0) == 4, "it becomes another kind of file");
	ok(image_open(&one, t, &r1, &files, &e) < 0 && !files.first && nr_descriptors() == before,
		"which is refused, and not kept: %s", e.msg);
	munmap((void *)(uintptr_t)r1.start.v, 4096);
	munmap((void *)(uintptr_t)r2.start.v, 4096);
	unlink(path);
	close(file);
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
	struct region at = { .path = path };
	raddr start, end;

	find_libc(path, sizeof path, &at.start);
	stat(path, &st);
	at.dev = st.st_dev;
	at.inode = st.st_ino;
	ok(target_open(&t, getpid(), &e) == 0, "we can look at ourselves %s", e.msg);
	ok(image_open(&file, &t, &at, NULL, &e) == 0, "from the file %s", e.msg);
	ok(!image_is_from_memory(file), "the file was taken");
	ok(!image_is_static(file), "libc is no static program");
	check_static("ledger-static");
	check_static("ledger-static-pie");
	check_libc(file);
	at.inode++;
	ok(image_open(&memory, &t, &at, NULL, &e) == 0,
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
	ok(image_open(&none, &t, &(struct region){ .start = { (uintptr_t)path & ~0xfffULL } }, NULL,
		   &e) < 0,
		"memory without an ELF header is refused: %s", e.msg);
	ok(image_open(&none, &t, &(struct region){ .start = { 4096 } }, NULL, &e) < 0,
		"so is memory that is not mapped: %s", e.msg);
	test_initialisers(&t);
	test_files(&t, path);
	image_free(file);
	image_free(memory);
	image_free(NULL);
	target_release(&t);
	return tap_end();
}
