#include <config.h>

#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/os.h"
#include "os/status.h"
#include "os/target.h"
#include "tap.h"

static int
parse(struct regions *m, const char *text, struct err *e)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int r = regions_parse(m, f, NULL, e);

	fclose(f);
	return r;
}

static void
one(const char *line, const char *path, const char *name)
{
	auto_regions struct regions m = { 0 };
	struct err e = { 0 };

	if (!ok(parse(&m, line, &e) == 0 && m.nr == 1, "%s: parses", name)) {
		printf("# %s\n", e.msg);
		return;
	}
	is_str(m.region[0].path, path, name);
}

static void
bad(const char *text, const char *name)
{
	auto_regions struct regions m = { 0 };
	struct err e = { 0 };

	ok(parse(&m, text, &e) == -1 && e.kind == ERR_FAILED && !m.region && !m.paths,
		"%s is refused", name);
}

#define AT "7f0000000000-7f0000001000 rw-p 00000000 00:00 0"
#define FILE_AT "7f0000000000-7f0000001000 r-xp 00002000 fe:01 4242                       "

static void
test_fields(void)
{
	auto_regions struct regions m = { 0 };
	struct err e;
	const struct region *r;

	ok(parse(&m, FILE_AT "/usr/lib/x.so\n", &e) == 0 && m.nr == 1, "a line");
	r = m.region;
	is_u64(r->start.v, 0x7f0000000000, "start");
	is_u64(r->end.v, 0x7f0000001000, "end");
	is_str(r->prot, "r-xp", "prot");
	is_u64(r->offset_bytes, 0x2000, "offset");
	is_u64(r->dev, makedev(0xfe, 1), "device");
	is_u64(r->inode, 4242, "inode is decimal");
	is_str(r->path, "/usr/lib/x.so", "path");
}

static void
test_names(void)
{
	char line[8192];
	char path[4096];

	one(AT " \n", NULL, "no name, as the kernel pads it");
	one(AT "\n", NULL, "no name and no padding");
	one(AT, NULL, "no newline at the end");
	one(FILE_AT "/tmp/a\\012b\n", "/tmp/a\\012b", "an escaped newline stays as it is written");
	one(FILE_AT "/tmp/trailing  \n", "/tmp/trailing  ", "trailing blanks belong to the name");
	one(FILE_AT "/tmp/two words\ttab\n", "/tmp/two words\ttab", "blanks within too");
	one(FILE_AT "/tmp/x (deleted)\n", "/tmp/x (deleted)", "nothing is cut off");
	one(FILE_AT "/tmp/[heap]\n", "/tmp/[heap]", "a file named [heap]");
	one(FILE_AT "/tmp/\377\376\n", "/tmp/\377\376", "bytes that are no UTF-8");
	one(AT "                          [anon: glibc: malloc arena]\n",
		"[anon: glibc: malloc arena]", "a named anonymous mapping");
	memset(path, 'p', sizeof path - 1);
	path[0] = '/';
	path[sizeof path - 1] = '\0';
	snprintf(line, sizeof line, "%s%s\n", FILE_AT, path);
	one(line, path, "a path of 4,095 bytes");
	one("00010000-00011000 rw-p 00000000 00:00 0          [stack]\n", "[stack]",
		"a line of a 32-bit process");
}

/* More lines than are read at once; a line longer than that; the last one without its end. */
static void
test_long(void)
{
	enum { LINES = 5000, LONG = 200000 };
	auto_regions struct regions m = { 0 };
	auto_free char *text = NULL, *path = malloc(LONG);
	struct err e = { 0 };
	size_t size, right = 0;
	FILE *f = open_memstream(&text, &size);

	memset(path, 'p', LONG - 1);
	path[LONG - 1] = '\0';
	for (unsigned int i = 0; i < LINES; i++)
		fprintf(f, "%x000-%x000 r--p 00000000 fe:01 7     /file %u\n", i + 1, i + 2, i / 3);
	fprintf(f, "%x000-%x000 r--p 00000000 fe:01 7     %s\n", LINES + 1, LINES + 2, path);
	fprintf(f, "%x000-%x000 r--p 00000000 fe:01 7     /last", LINES + 2, LINES + 3);
	fclose(f);
	ok(parse(&m, text, &e) == 0, "a long list");
	if (!is_u64(m.nr, LINES + 2, "all of its lines"))
		return;
	for (unsigned int i = 0; i < LINES; i++) {
		char want[32];

		snprintf(want, sizeof want, "/file %u", i / 3);
		right += m.region[i].start.v == (uint64_t)(i + 1) << 12 &&
			strcmp(m.region[i].path, want) == 0;
	}
	is_u64(right, LINES, "each with its own name");
	ok(strcmp(m.region[LINES].path, path) == 0,
		"a line that is longer than what is read at once");
	is_str(m.region[LINES + 1].path, "/last", "the last, without a newline");
}

static void
test_vsyscall(void)
{
	auto_regions struct regions m = { 0 };
	struct err e;

	parse(&m, AT "\nffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0     [vsyscall]\n",
		&e);
	is_u64(m.nr == 2 ? m.region[1].start.v : 0, 0xffffffffff600000, "addresses above 2^63");
	is_u64(regions_size(&m), 4096, "vsyscall is no part of VmSize");
}

static void
test_torn(void)
{
	auto_regions struct regions m = { 0 };
	struct err e;

	/* 1-3 listed, then 2-5 (grown), then 3-4 again, then 8-9 before 6-7. */
	ok(parse(&m,
		   "1000-3000 rw-p 00000000 00:00 0 \n"
		   "2000-5000 rw-p 00010000 fe:01 7 /f\n"
		   "3000-4000 rw-p 00000000 00:00 0 \n"
		   "8000-9000 rw-p 00000000 00:00 0 \n"
		   "6000-7000 rw-p 00000000 00:00 0 \n",
		   &e) == 0,
		"a torn map parses");
	if (is_u64(m.nr, 4, "one line said nothing new")) {
		is_u64(m.region[1].start.v, 0x3000, "the new part of a grown mapping is kept");
		is_u64(m.region[1].offset_bytes, 0x11000, "with its place in the file");
		is_u64(m.region[2].start.v, 0x6000, "and the order is put right");
	}
	is_u64(m.torn_bytes, 0x2000, "what was listed twice is counted");
	is_u64(regions_size(&m), 0x6000, "every byte once");
}

static void
test_bad(void)
{
	auto_regions struct regions m = { 0 };
	auto_file FILE *nothing = fopen("/dev/null", "r");
	struct err e;

	bad("hello\n", "a word");
	bad("7f00-7f00 rw-p 00000000 00:00 0 \n", "an empty mapping");
	bad("7f00-7e00 rw-p 00000000 00:00 0 \n", "a mapping that ends before it starts");
	bad("10000000000000000-7e00 rw-p 00000000 00:00 0 \n", "a number of 65 bits");
	bad("7e00-7f00 rw-p 00000000 00:0\n", "a line that is cut");
	bad("7e00-7f00 rw\n", "a line cut in its protection");
	bad("7e00-7f00 rw-p 00000000 00:00 0x\n", "an inode that is no number");
	bad(AT "\n\n" AT "\n", "an empty line");
	ok(parse(&m, " ", &e) < 0, "a blank is refused");
	ok(regions_parse(&m, nothing, NULL, &e) == 0 && m.nr == 0, "nothing is an empty map");
}

static void
test_find(void)
{
	auto_regions struct regions m = { 0 };
	struct err e;

	parse(&m,
		"1000-3000 rw-p 00000000 00:00 0 \n"
		"3000-4000 r--p 00000000 00:00 0 \n"
		"8000-9000 rw-p 00000000 00:00 0 \n",
		&e);
	ok(regions_find(&m, (raddr){ 0xfff }) == NULL, "below all");
	ok(regions_find(&m, (raddr){ 0x1000 }) == &m.region[0], "the first byte");
	ok(regions_find(&m, (raddr){ 0x3000 }) == &m.region[1], "an end belongs to the next");
	ok(regions_find(&m, (raddr){ 0x4000 }) == NULL, "a hole");
	ok(regions_find(&m, (raddr){ 0x8fff }) == &m.region[2], "the last byte");
	ok(regions_find(&m, (raddr){ 0x9000 }) == NULL, "above all");
}

/* Our own map, of which we know one line. */
static void
test_read(void)
{
	auto_target struct target t = TARGET_NONE;
	auto_regions struct regions m = { 0 };
	struct os_status s;
	struct err e = { 0 };
	const struct region *r;
	int local;

	if (!ok(target_open(&t, getpid(), &e) == 0 && regions_read(&m, &t, &e) == 0, "our own map"))
		printf("# %s\n", e.msg);
	r = regions_find(&m, (raddr){ (uintptr_t)&local });
	is_str(r ? r->path : NULL, "[stack]", "a local lies on the stack");
	ok(os_status(&t, 0, &s, &e) == 0 && s.vm_size_bytes >= regions_size(&m), "VmSize");
	is_u64(m.torn_bytes, 0, "nothing was torn");
}

/* The memory for each mapping, of which maps warns: there may be a million mappings. */
static void
test_own_bytes(void)
{
	struct process p = { .maps.nr = 0 };
	struct space s = { .process = &p };

	is_u64(space_own_bytes(&s), 0, "nothing takes nothing");
	p.maps.nr = s.leaves.nr = 1000000;
	ok(space_own_bytes(&s) > UINT64_C(64) << 20, "a million mappings take more than 64 MiB");
	p.maps.nr = s.leaves.nr = 65530;
	ok(space_own_bytes(&s) < UINT64_C(64) << 20,
		"as many as Linux allows by default take less");
}

int
main(void)
{
	test_fields();
	test_names();
	test_long();
	test_vsyscall();
	test_torn();
	test_bad();
	test_find();
	test_read();
	test_own_bytes();
	return tap_end();
}
