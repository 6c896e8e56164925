/*
 * The names of .heap files, in a folder of our own: each number is used once, whoever has taken it,
 * and nothing is left of
 * a name that is given back.  Then the large calls that are printed, and files that triggers ask
 * for.
 */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <regex.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/profile-watch.c"

#include "capture/profile-file.h"
#include "tap.h"

static char dir[] = "/tmp/capture-files-XXXXXX";
static char prefix[64];

static struct profile_file
file_number(uint32_t number)
{
	return (struct profile_file){
		.prefix = prefix,
		.pid = 42,
		.number = number,
		.kind = PROFILE_HIGH_WATER,
		.nr_of_kind = 7,
	};
}

/* Make the empty file NAME in the folder. */
static void
touch(const char *name)
{
	char path[200];
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		exit(99);
	close(fd);
}

static size_t
nr_files(void)
{
	const struct dirent *d;
	DIR *f = opendir(dir);
	size_t nr = 0;

	while ((d = readdir(f)))
		nr += *d->d_name != '.';
	closedir(f);
	return nr;
}

/* Whether NAME is <prefix>.42.NUMBER.u7.<date>T<time>.heap. */
static bool
is_name(const struct profile_name *name, uint32_t number)
{
	char pattern[200];
	regex_t regex;
	bool is_it;

	snprintf(pattern, sizeof pattern, "^%s\\.42\\.%u\\.u7\\.[0-9]{8}T[0-9]{6}\\.heap$", prefix,
		number);
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		exit(99);
	is_it = regexec(&regex, name->path, 0, NULL, 0) == 0;
	regfree(&regex);
	if (!is_it)
		printf("#   got '%s', want '%s'\n", name->path, pattern);
	return is_it;
}

static void
test_names(void)
{
	const struct profile_file f = file_number(3);
	struct profile_name a, b, c;
	struct err e;

	ok(profile_name_take(&a, &f, &e) == 0 && is_name(&a, 3), "a name has the number asked for");
	ok(strstr(a.part, ".42.3.part") && access(a.part, F_OK) == 0,
		"the number is taken by a .part file");
	ok(profile_name_take(&b, &f, &e) == 0 && is_name(&b, 4),
		"the second name has the next number");
	profile_name_release(&a);
	is_u64(nr_files(), 1, "nothing is left of a name that is given back");
	ok(profile_name_take(&a, &f, &e) == 0 && is_name(&a, 3),
		"a number that is given back is used");
	profile_name_release(&a);
	profile_name_release(&b);
	/* Files that are there: of the process, of another process, and of another kind. */
	touch("heap.42.3.m0.20260101T000000.heap");
	touch("heap.420.4.m0.20260101T000000.heap");
	touch("heap.42.4.m0.20260101T000000.txt");
	ok(profile_name_take(&c, &f, &e) == 0 && is_name(&c, 4),
		"a number that a .heap file has is not used");
	profile_name_release(&c);
	profile_name_release(&c);
	is_u64(nr_files(), 3, "a name may be given back twice");
	ok(profile_file_check(prefix, &e) == 0, "files may be written into the folder");
	ok(profile_file_check("/nowhere/heap", &e) < 0 && strstr(e.msg, "/nowhere"),
		"a folder that is missing is named");
}

/* ---- large calls ---- */

/* Calls number FIRST to LAST, of one stack each. */
static void
make_larges(struct sites_copy *c, uint32_t first, uint32_t last)
{
	struct wire_triggers *t = &c->head.triggers;

	for (uint32_t i = first; i <= last; i++)
		t->large[i % WIRE_NR_LARGE] =
			(struct wire_large){ .bytes = i, .node = i, .number = i };
	t->nr_large = last;
}

/* Nothing is printed: that would take a process. */
static void
test_larges(void)
{
	struct sites_copy c = { .nr_nodes = 0 };
	struct profile_watch w = { .is_silent = true };

	make_larges(&c, 1, 10);
	print_larges(&w, &c, NULL);
	ok(w.nr_large == 10 && w.nr_not_printed == 10, "ten large calls are seen once");
	make_larges(&c, 11, 10 + WIRE_NR_LARGE + 6);
	print_larges(&w, &c, NULL);
	is_u64(w.nr_large, 10 + WIRE_NR_LARGE + 6, "calls that came too fast are passed over");
	is_u64(w.nr_not_printed, 10 + WIRE_NR_LARGE + 6, "calls that came too fast are counted");
	c.head.triggers.nr_large++;
	c.head.triggers.large[c.head.triggers.nr_large % WIRE_NR_LARGE].number = 0;
	print_larges(&w, &c, NULL);
	is_u64(w.nr_large, 10 + WIRE_NR_LARGE + 6,
		"a call that is being written is left for later");
}

static void
test_stacks(void)
{
	struct profile_watch w = { .is_silent = false };
	size_t nr = 0;

	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 1; i <= PROFILE_WATCH_STACKS + 5; i++)
			nr += profile_watch_is_new(&w, i);
	is_u64(nr, PROFILE_WATCH_STACKS,
		"each stack is printed once, and no more than there is room for");
}

int
main(void)
{
	char command[100];

	if (!mkdtemp(dir))
		return 99;
	snprintf(prefix, sizeof prefix, "%s/heap", dir);
	test_names();
	test_larges();
	test_stacks();
	snprintf(command, sizeof command, "rm -r %s", dir);
	if (system(command) != 0)
		return 99;
	return tap_end();
}
