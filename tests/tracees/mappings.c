/*
 * mappings DIR: one mapping of each sort, with files in DIR.  After "ready" it has said a line
 * "NAME START-END" for each that could be made, and "NAME none" for the others.
 *
 *	touch	-> uses a second hugetlb page, if it has one
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#define PAGE 4096
#define MIB ((size_t)1 << 20)
#define HUGE (2 * MIB)
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, Linux 6.13 */

static const char *dir;
static char *hugetlb;

static void *
say(const char *name, void *p, size_t size)
{
	if (p == MAP_FAILED)
		tracee_say("%s none", name);
	else
		tracee_say("%s %lx-%lx", name, (unsigned long)(uintptr_t)p,
			(unsigned long)((uintptr_t)p + size));
	return p;
}

static char *
map(const char *name, size_t size, int prot, int flags, int fd)
{
	return say(name, mmap(NULL, size, prot, flags, fd, 0), size);
}

/* Private memory between two pages that nobody may touch, so that it merges with no neighbour. */
static char *
map_alone(const char *name, size_t size)
{
	char *p = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, size, PROT_READ | PROT_WRITE) < 0)
		tracee_fail("mmap");
	return say(name, p + PAGE, size);
}

/* A new file of PAGES pages, open; with DELETE its name is gone again when it has been mapped. */
static int
make_file(const char *name, size_t pages)
{
	char path[8192];
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)(pages * PAGE)) < 0)
		tracee_fail(path);
	for (size_t i = 0; i < pages; i++)
		if (pwrite(fd, "x", 1, (off_t)(i * PAGE)) != 1)
			tracee_fail(path);
	return fd;
}

static void
map_file(const char *what, const char *name, int flags, bool write)
{
	int fd = make_file(name, 2);
	char *p = map(what, 2 * PAGE, PROT_READ | PROT_WRITE, flags, fd);

	if (write)
		p[0] = 'y';
	else if (p[0] != 'x')
		tracee_fail(name);
	close(fd);
}

static void
map_deleted(void)
{
	char path[8192];

	map_file("deleted", "gone", MAP_PRIVATE, true);
	snprintf(path, sizeof path, "%s/gone", dir);
	unlink(path);
}

/* Directories upon directories, until the path has 3,700 bytes. */
static void
map_deep(void)
{
	char name[200];
	int fd, at = open(dir, O_RDONLY | O_DIRECTORY);
	char *p;

	memset(name, 'd', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	for (size_t length = 0; length < 3700; length += sizeof name) {
		int deeper;

		if ((mkdirat(at, name, 0700) < 0 && errno != EEXIST) ||
			(deeper = openat(at, name, O_RDONLY | O_DIRECTORY)) < 0)
			tracee_fail("mkdir");
		close(at);
		at = deeper;
	}
	fd = openat(at, "deep", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, PAGE) < 0)
		tracee_fail("deep");
	p = map("deep", PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	p[0] = 1;
	close(fd);
	close(at);
}

static void
map_files(void)
{
	int fd;
	char *p;

	map_file("private", "private", MAP_PRIVATE, false);
	map_file("written", "written", MAP_PRIVATE, true);
	map_file("shared", "shared", MAP_SHARED, true);
	map_file("newline", "new\nline\033[31m", MAP_PRIVATE, false);
	map_file("blank", "blank ", MAP_PRIVATE, false);
	map_file("heap-file", "[heap]", MAP_SHARED, false);
	map_file("not-deleted", "here (deleted)", MAP_PRIVATE, false);
	map_file("class-mo", "text.mo", MAP_PRIVATE, false);
	map_deleted();
	map_deep();
	fd = make_file("twice", 128);
	for (int i = 0; i < 2; i++) {
		p = map("twice", (size_t)128 * PAGE, PROT_READ, MAP_SHARED, fd);
		for (int k = 0; k < 128; k++)
			if (p[k * PAGE] != 'x')
				tracee_fail("twice");
	}
	close(fd);
}

static void
map_memory(void)
{
	/* The first of a namespace has number 0, and so has its inode. */
	int id = unshare(CLONE_NEWIPC), huge;
	int fd = memfd_create("a/b] [heap]", 0), zero = open("/dev/zero", O_RDWR);
	char *p = map("shared-anon", MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);

	memset(p, 1, 3 * PAGE);
	id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	tracee_say("shmid %d", id);
	p = say("sysv", shmat(id, NULL, 0), MIB);
	if (p != MAP_FAILED)
		p[0] = 1;
	shmctl(id, IPC_RMID, NULL);
	unshare(CLONE_NEWIPC);
	huge = shmget(IPC_PRIVATE, HUGE, IPC_CREAT | SHM_HUGETLB | 0600);
	p = say("sysv-huge", huge < 0 ? MAP_FAILED : shmat(huge, NULL, 0), HUGE);
	if (p != MAP_FAILED)
		p[0] = 1;
	shmctl(huge, IPC_RMID, NULL);
	if (ftruncate(fd, (off_t)MIB) < 0)
		tracee_fail("memfd");
	p = map("memfd", MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	p[0] = 1;
	close(fd);
	p = map("dev-zero", MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero);
	p[0] = 1;
	close(zero);
	p = map("jit", PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	p[0] = 1;
	map("reserve", 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static void
map_pages(void)
{
	char *p = map_alone("zero-pages", 2 * MIB);
	volatile char sum = 0;

	for (size_t i = 0; i < 2 * MIB; i += PAGE)
		sum = (char)(sum + p[i]);
	p = map_alone("guards", MIB);
	p[0] = 1;
	if (madvise(p + PAGE, 16 * PAGE, GUARD_INSTALL) < 0)
		tracee_say("guard-pages none");
	p = map_alone("huge", 2 * HUGE);
	p = (char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	madvise(p, HUGE, MADV_HUGEPAGE);
	p[0] = 1;
	hugetlb = map("hugetlb", 2 * HUGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	if (hugetlb != MAP_FAILED)
		hugetlb[0] = 1;
}

/* Where the vdso is, and its size; 0 if none. */
static size_t
find_vdso(char **ret_start)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	size_t size = 0;
	char line[8192];

	if (!maps)
		tracee_fail("/proc/self/maps");
	while (!size && fgets(line, sizeof line, maps))
		if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &start, &end) == 2) {
			*ret_start = (char *)start;
			size = end - start;
		}
	fclose(maps);
	return size;
}

/* Move the vdso right behind much private memory; nobody here asks it for the time any more. */
static void
move_vdso(void)
{
	char *vdso, *to = MAP_FAILED;
	size_t size = find_vdso(&vdso);
	char *p = mmap(
		NULL, 2 * MIB + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	p[0] = 1;
	if (size)
		to = mremap(vdso, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, p + 2 * MIB);
	say("vdso", to, size);
}

int
main(int argc, char **argv)
{
	char line[64];

	if (argc < 2)
		return 64;
	dir = argv[1];
	move_vdso();
	map_files();
	map_memory();
	map_pages();
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (hugetlb != MAP_FAILED)
			hugetlb[HUGE] = 1;
		tracee_say("touched");
	}
	return tracee_end();
}
