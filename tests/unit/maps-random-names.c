/*
 * Processes of random names, with whatever bytes the kernel allows, against what this test called
 * them: -p NAME finds those, and no other.
 *
 *	maps-random-names		a few seeds, and those that have failed;
 *					tests/live/maps-random.sh takes more
 *	maps-random-names FIRST NR	these seeds
 */
#include <config.h>

#include <sys/stat.h>

#include "random-run.h"

#define FEW_SEEDS 24

static const unsigned long failed_once[] = { 20261310, 0 };

#define NAMES 3
#define NAMED_MAX 5
#define COMM_LENGTH 15

/* A process, what ps calls it, and the file that it runs. */
struct named {
	struct child c;
	char name[32];
	enum { SETS_NAME, RUNS_FILE, RUNS_LINK, RUNS_DELETED, NR_WAYS } way;
};

/* One that nobody else has: the number of this process is in it, in letters. */
static void
make_name(char *name)
{
	static const char *const pieces[] = { " ", "[", "]", "(", ")", "\n", "\t", "\\", "%s", "\"",
		"'", "*", ",", "-", "1", "\377", "\303\251", "\342\202\254", "\033[31m", "x",
		"\\012", ":", "\177", "(deleted)", " (deleted)" };
	size_t length = 6 + some(15), at = some(6);
	char tag[8];
	unsigned int n = (unsigned int)getpid();

	for (size_t i = 0; i < 6; i++, n /= 16)
		tag[i] = (char)('a' + n % 16);
	tag[6] = '\0';
	name[0] = '\0';
	while (strlen(name) < at)
		strcat(name, pieces[some(sizeof pieces / sizeof *pieces - 2)]);
	strcat(name, tag);
	while (strlen(name) < length)
		strcat(name, pieces[some(sizeof pieces / sizeof *pieces)]);
}

/* For child_start(): ARG is a struct named. */
static void
run_named(void *arg)
{
	const struct named *n = arg;
	char file[4200], idle[4200];

	if (n->way == SETS_NAME) {
		prctl(PR_SET_NAME, n->name);
		child_ready();
		return;
	}
	snprintf(idle, sizeof idle, "%s/idle", dir);
	snprintf(file, sizeof file, "%s/%d/%s", dir, (int)getpid(), n->name);
	*strrchr(file, '/') = '\0';
	mkdir(file, 0700);
	file[strlen(file)] = '/';
	if ((n->way == RUNS_LINK ? symlink("../idle", file) : link(idle, file)) == 0)
		execl(file, "", (char *)NULL);
}

static void
delete_file(const struct named *n)
{
	char file[4200];

	snprintf(file, sizeof file, "%s/%d/%s", dir, (int)n->c.pid, n->name);
	if (n->way == RUNS_DELETED)
		unlink(file);
}

/*
 * Whether -p NAME stands for the process.  Its /proc/PID/exe ends with " (deleted)" if the file was
 * removed, but also if the file is called so: NAME may be with or without it.  It is left off once
 * only, as the kernel adds it once: a removed file "x (deleted)" is not called "x".
 */
static bool
is_called(const struct named *n, const char *name)
{
	const char *file = n->way == SETS_NAME ? "maps-random-names"
		: n->way == RUNS_LINK	       ? "idle"
					       : n->name;
	char comm[COMM_LENGTH + 1], exe[64], marked[64];

	snprintf(comm, sizeof comm, "%.*s", COMM_LENGTH, n->name);
	snprintf(exe, sizeof exe, "%s%s", file, n->way == RUNS_DELETED ? " (deleted)" : "");
	snprintf(marked, sizeof marked, "%s (deleted)", name);
	return strcmp(comm, name) == 0 || strcmp(exe, name) == 0 || strcmp(exe, marked) == 0;
}

static const struct said *
ask_name(const char *name, bool of_all, bool is_json)
{
	struct words w = { 0 };

	add_word(&w, "-p");
	add_word(&w, name);
	if (of_all)
		add_word(&w, "--all");
	if (is_json)
		add_word(&w, "--json");
	return run_maps(&w);
}

/* With --all: each that is called NAME, and no other, by its name. */
static bool
all_are_found(const struct named *n, size_t nr, const char *name, size_t wanted)
{
	const struct said *said = ask_name(name, true, true);
	json_t *data, *rows, *row;
	size_t i, found = 0;

	if (said->status)
		return fail("--all: exit status %d: %.200s", said->status, said->err);
	data = data_of(said);
	rows = json_object_get(data, "processes");
	json_array_foreach(rows, i, row) for (size_t k = 0; k < nr; k++)
	{
		char comm[COMM_LENGTH + 1];

		snprintf(comm, sizeof comm, "%.*s", COMM_LENGTH, n[k].name);
		found += number(row, "pid") == (uint64_t)n[k].c.pid && is_called(&n[k], name) &&
			is_name(json_string_value(json_object_get(row, "name")), comm);
	}
	i = json_array_size(rows);
	json_decref(data);
	return (found == wanted && i == wanted) ||
		fail("--all: %zu processes, of which %zu are of the %zu", i, found, wanted);
}

/* As text: a line for each, and nothing that a terminal would obey. */
static bool
lines_are_clean(const char *name, size_t wanted)
{
	const char *text = ask_name(name, true, false)->out;
	size_t nr = 0;

	for (; *text; text++) {
		nr += *text == '\n';
		if ((*text >= 0 && *text < ' ' && *text != '\n') || *text == '\177')
			return fail("a control character is printed");
	}
	/* Around them the names of columns, the total, what it counts, and how many mappings. */
	return nr == wanted + 4 || fail("%zu lines for %zu processes", nr, wanted);
}

/* Without --all: the only one, or a list of them. */
static bool
one_is_found(const struct named *n, size_t nr, const char *name, size_t wanted)
{
	const struct said *said = ask_name(name, false, true);
	json_t *document = json_loads(said->out, 0, NULL);
	uint64_t pid = number(json_object_get(document, "target"), "pid");
	char line[32];

	json_decref(document);
	if (said->status != (wanted > 1 ? 64 : 0))
		return fail("exit status %d for %zu: %.300s", said->status, wanted, said->err);
	for (size_t i = 0; i < nr; i++) {
		if (!is_called(&n[i], name))
			continue;
		snprintf(line, sizeof line, "%d ", (int)n[i].c.pid);
		if (wanted > 1 ? !strstr(said->err, line) : pid != (uint64_t)n[i].c.pid)
			return fail("%d is not found: %.300s", (int)n[i].c.pid, said->err);
	}
	return true;
}

static bool
name_agrees(const struct named *n, size_t nr, const char *name)
{
	const struct said *said;
	size_t wanted = 0;

	for (size_t i = 0; i < nr; i++)
		wanted += is_called(&n[i], name);
	if (wanted)
		return all_are_found(n, nr, name, wanted) && lines_are_clean(name, wanted) &&
			one_is_found(n, nr, name, wanted);
	said = ask_name(name, some(2), true);
	return (said->status == 3 && strstr(said->err, "no process called")) ||
		fail("nobody: exit status %d: %.200s", said->status, said->err);
}

static bool
try_name(const struct named *n, size_t nr, const char *name)
{
	char cut[32], shown[128], was[512];
	const char *const asked[] = { name, cut };

	snprintf(cut, sizeof cut, "%.*s", COMM_LENGTH - (int)some(2), name);
	for (size_t i = 0; i < 2; i++) {
		if (name_agrees(n, nr, asked[i]))
			continue;
		snprintf(was, sizeof was, "%.500s", why);
		return fail("'%s': %s", text_escape(asked[i], shown, sizeof shown), was);
	}
	return true;
}

static bool
try_names(unsigned long seed)
{
	char names[NAMES][32];
	struct named n[NAMED_MAX];
	const size_t nr = 1 + some(NAMED_MAX);
	bool is_fine = true;

	(void)seed;
	for (size_t i = 0; i < NAMES; i++)
		make_name(names[i]);
	for (size_t i = 0; i < nr; i++) {
		snprintf(n[i].name, sizeof n[i].name, "%s", names[some(NAMES)]);
		n[i].way = (int)some(NR_WAYS);
		n[i].c = child_start(run_named, &n[i]);
		delete_file(&n[i]);
		if (!n[i].c.is_ready)
			is_fine = fail("a process did not get ready");
	}
	for (size_t i = 0; i < NAMES && is_fine; i++)
		is_fine = try_name(n, nr, names[i]);
	/* Backwards: a fork has the descriptors of those before it. */
	for (size_t i = nr; i--;)
		child_end(&n[i].c);
	return is_fine;
}

/* A copy of a program that other names are given to. */
static bool
copy_idle(void)
{
	char line[8400];

	snprintf(line, sizeof line, "cp '%s/tests/tracees/idle' '%s/idle'", builddir, dir);
	return system(line) == 0;
}

int
main(int argc, char **argv)
{
	return random_main(argc, argv, FEW_SEEDS, failed_once,
		"processes of random names are found by them", copy_idle, try_names);
}
