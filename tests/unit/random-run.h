/*
 * random-run: a test of 'memdiag maps' that is made of seeds: numbers by chance, memdiag, and what
 * it says.
 */
#ifndef MEMDIAG_TESTS_RANDOM_RUN_H
#define MEMDIAG_TESTS_RANDOM_RUN_H

#include <jansson.h>
#include <stdarg.h>

#include "random-space.h"
#include "tap.h"

#define WORDS_MAX 32

static const char *builddir, *dir;
static uint64_t state;
static char why[1024];

static inline uint64_t
some(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

static inline bool __attribute__((format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- memdiag ---- */

struct words {
	const char *v[WORDS_MAX]; /* ends with NULL */
	size_t nr;
	char text[WORDS_MAX][64]; /* of numbers */
};

static inline void
add_word(struct words *w, const char *word)
{
	w->v[w->nr++] = word;
}

static inline void __attribute__((format(printf, 2, 3)))
add_number(struct words *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->text[w->nr], sizeof w->text[0], fmt, ap);
	va_end(ap);
	add_word(w, w->text[w->nr]);
}

struct said {
	int status;
	char out[1 << 18], err[8192];
};

static inline void
read_file(const char *name, char *buf, size_t size)
{
	FILE *f = fopen(name, "r");

	buf[f ? fread(buf, 1, size - 1, f) : 0] = '\0';
	if (f)
		fclose(f);
}

/* 'memdiag maps WORDS...' */
static inline const struct said *
run_maps(const struct words *words)
{
	static struct said said;
	char program[4096], out[4096], err[4096];
	const char *argv[WORDS_MAX + 8] = { "memdiag", "maps", "--timeout=300s" };
	pid_t pid;
	int status = -1;

	memcpy(argv + 3, words->v, words->nr * sizeof *argv);
	snprintf(program, sizeof program, "%s/memdiag", builddir);
	snprintf(out, sizeof out, "%s/out", dir);
	snprintf(err, sizeof err, "%s/err", dir);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr))
			_exit(99);
		execv(program, (char **)(uintptr_t)argv);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	read_file(out, said.out, sizeof said.out);
	read_file(err, said.err, sizeof said.err);
	return &said;
}

/* "data" of what was said; NULL if it is no JSON. */
static inline json_t *
data_of(const struct said *said)
{
	json_t *document = json_loads(said->out, 0, NULL);
	json_t *data = json_incref(json_object_get(document, "data"));

	json_decref(document);
	return data;
}

static inline uint64_t
number(json_t *o, const char *member)
{
	return (uint64_t)json_integer_value(json_object_get(o, member));
}

/* Whether the name TEXT of JSON stands for NAME. */
static inline bool
is_name(const char *text, const char *name)
{
	char byte;

	for (; text && *text; name++) {
		if (*text != '\\') {
			byte = *text++;
		} else if (text[1] == '\\') {
			byte = '\\';
			text += 2;
		} else {
			byte = (char)strtoul((char[]){ text[1], text[2], text[3], 0 }, NULL, 8);
			text += 4;
		}
		if (*name != byte)
			return false;
	}
	return text && !*name;
}

/* ---- seeds ---- */

/* Each seed has numbers of its own, in each of the two. */
static inline size_t
nr_failing(bool (*try)(unsigned long seed), unsigned long first, unsigned long nr)
{
	size_t nr_failed = 0;

	for (unsigned long seed = first; seed < first + nr; seed++) {
		state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
		if (try(seed))
			continue;
		nr_failed++;
		printf("# seed %lu: %s\n", seed, why);
		fflush(stdout);
	}
	return nr_failed;
}

/*
 * Try the seeds that the command line names, else FEW_SEEDS and FAILED_ONCE, the seeds with which a
 * test has failed (up to 0; NULL: none); WHAT is so for each of them.
 */
static inline int
random_main(int argc, char **argv, int few_seeds, const unsigned long *failed_once,
	const char *what, bool (*prepare)(void), bool (*try)(unsigned long seed))
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned long nr =
		argc > 2 ? strtoul(argv[2], NULL, 0) : (unsigned long)tap_share(few_seeds);
	size_t nr_failed;
	char files[4096];

	if (skip_if_sanitized(what))
		return tap_end();
	builddir = getenv("top_builddir");
	builddir = builddir ? builddir : ".";
	snprintf(files, sizeof files, "%s/tests/random.XXXXXX", builddir);
	if (!ok(mkdtemp(files), "a directory for files"))
		return tap_end();
	dir = files;
	if (!prepare || ok(prepare(), "what the seeds need")) {
		nr_failed = nr_failing(try, first, nr);
		for (; argc < 2 && failed_once && *failed_once; failed_once++)
			nr_failed += nr_failing(try, *failed_once, 1);
		is_u64(nr_failed, 0, what);
	}
	random_space_remove(dir);
	return tap_end();
}

#endif
