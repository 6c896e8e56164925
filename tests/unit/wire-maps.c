/*
 * Which code was where, by objects that were seen in stacks and by what is mapped: written
 * examples, then objects that are loaded at random, whose lines are chosen from numbers and not
 * from text; then texts that are damaged.
 *
 *	wire-maps [FIRST-SEED [SEEDS]]
 */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "seeds.h"
#include "wire/maps-text.h"
#include "wire/maps.h"
#include "wire/sites.h"

static char *
merge(const char *seen, const char *maps)
{
	const struct wire_maps_texts t = { seen, maps, strlen(seen), strlen(maps) };

	return wire_maps_text(&t);
}

static void
is_merged(const char *seen, const char *maps, const char *want, const char *name)
{
	char *got = merge(seen, maps);

	is_str(got, want, name);
	free(got);
}

#define A                                                                                          \
	"0000000000001000-0000000000003000 r-xp 00001000 00:00 0 /lib/a.so\n# build-id 0x1000 "    \
	"aa\n"
#define B                                                                                          \
	"0001000000002000-0001000000004000 r-xp 00001000 00:00 0 /lib/b.so\n# build-id "           \
	"0x1000000002000 bb\n"
#define MAPPED_A "1000-3000 r-xp 00001000 08:01 7 /usr/lib/a.so\n"
#define MAPPED_B "2000-4000 r-xp 00001000 08:01 8 /usr/lib/b.so\n"
#define DATA                                                                                       \
	"3000-5000 rw-p 00003000 08:01 7 /usr/lib/a.so\n6000-7000 rw-p 00000000 00:00 0 [heap]\n"

static void
test_examples(void)
{
	is_merged("", MAPPED_A DATA, MAPPED_A DATA, "nothing was seen: what is mapped");
	is_merged(
		A, MAPPED_A DATA, MAPPED_A DATA, "an object that is still mapped: its line of now");
	is_merged(A, DATA, A DATA, "an object that was unloaded: as it was seen");
	is_merged(A, MAPPED_B, A, "code where another object was seen is none of its own");
	is_merged(A B, MAPPED_B, A B, "two objects, one after the other at one address");
	is_merged(A B, MAPPED_A, A B, "and the first one is there again");
	is_merged(A, "1000-3000 r-xp 00001000 08:01 7 /lib/a.so.1.2\n",
		"1000-3000 r-xp 00001000 08:01 7 /lib/a.so.1.2\n", "a name that is a link");
	is_merged(A, "1000-3000 r-xp 00001000 08:01 7 /lib/a.so (deleted)\n",
		"1000-3000 r-xp 00001000 08:01 7 /lib/a.so (deleted)\n",
		"a file that was replaced");
	is_merged(A, "1000-3000 r-xp 00001000 08:01 7 /lib/c.so\n", A,
		"another file, mapped where an object was seen");
}

/* ---- random objects ---- */

#define MAX_OBJECTS 12

struct object {
	uint64_t start, end;
	uint32_t number, name;
};
struct objects {
	struct object v[MAX_OBJECTS];
	size_t nr;
};

/* Some that do not overlap each other, if they are mapped. */
static void
make_objects(struct objects *o, bool is_mapped)
{
	uint64_t at = 1;

	o->nr = some(MAX_OBJECTS);
	for (size_t i = 0; i < o->nr; i++) {
		struct object *v = &o->v[i];

		v->start = is_mapped ? at + some(3) : 1 + some(30);
		v->end = v->start + 1 + some(4);
		v->number = is_mapped || some(2) ? 0 : 1 + (uint32_t)some(254);
		v->name = (uint32_t)some(4);
		at = v->end;
	}
}

static void
put(char *text, const struct object *v, bool is_mapped)
{
	char *at = text + strlen(text);

	if (is_mapped)
		sprintf(at, "%" PRIx64 "000-%" PRIx64 "000 r-xp 00002000 08:01 5 /d/%u/lib%u\n",
			v->start, v->end, v->name, v->name);
	else
		sprintf(at, "%016" PRIx64 "-%016" PRIx64 " r-xp 00002000 00:00 0 /e/lib%u\n",
			wire_frame(v->start << 12, v->number), wire_frame(v->end << 12, v->number),
			v->name);
}

static bool
overlap(const struct object *a, const struct object *b)
{
	return a->start < b->end && b->start < a->end;
}

static bool
is_needed(const struct object *v, const struct objects *seen, const struct objects *mapped)
{
	bool is_needed = true;

	for (size_t i = 0; i < mapped->nr; i++)
		if (mapped->v[i].start == v->start && mapped->v[i].end == v->end &&
			mapped->v[i].name == v->name)
			is_needed = false;
	for (size_t i = 0; i < seen->nr; i++)
		if (seen->v[i].number && overlap(&seen->v[i], v))
			is_needed = true;
	return is_needed;
}

static bool
run(void)
{
	char seen_text[MAX_OBJECTS * 100] = "", maps_text[MAX_OBJECTS * 100] = "",
				     want[2 * MAX_OBJECTS * 100] = "";
	struct objects seen, mapped;
	char *got;
	bool is_same;

	make_objects(&seen, false);
	make_objects(&mapped, true);
	/* Some are the same. */
	for (size_t i = 0; i < seen.nr && i < mapped.nr; i++)
		if (some(2) == 0) {
			seen.v[i] = mapped.v[i];
			seen.v[i].number = some(3) ? 0 : 9;
		}
	for (size_t i = 0; i < seen.nr; i++) {
		put(seen_text, &seen.v[i], false);
		if (is_needed(&seen.v[i], &seen, &mapped))
			put(want, &seen.v[i], false);
	}
	for (size_t i = 0; i < mapped.nr; i++) {
		bool is_covered = false;

		for (size_t k = 0; k < seen.nr; k++)
			is_covered |= !seen.v[k].number && overlap(&seen.v[k], &mapped.v[i]) &&
				is_needed(&seen.v[k], &seen, &mapped);
		put(maps_text, &mapped.v[i], true);
		if (!is_covered)
			put(want, &mapped.v[i], true);
	}
	got = merge(seen_text, maps_text);
	is_same = strcmp(got, want) == 0;
	free(got);
	return is_same ||
		FAIL("other lines, with these objects:\n%smapped:\n%s", seen_text, maps_text);
}

/* Whatever is in the texts, each line is put once or not at all, and nothing else is. */
static void
count(void *arg, const char *line, size_t len)
{
	size_t *left = arg;

	(void)line;
	*left = len < *left ? *left - len : 0;
}

static bool
run_damaged(void)
{
	static const char letters[] = "01f-x/ r#\n\n";
	char text[2][300];
	struct wire_maps_texts t = { text[0], text[1], some(300), some(300) };
	size_t left = t.seen_bytes + t.maps_bytes + 1;

	for (size_t i = 0; i < sizeof text; i++)
		(&text[0][0])[i] = some(20) ? letters[some(sizeof letters)] : (char)some(256);
	wire_maps_merge(&t, count, &left);
	return left || FAIL("more lines than there are");
}

static void
test_unfinished(void)
{
	static const char seen[] = A "\0" B;
	const struct wire_maps_texts t = { seen, MAPPED_B, sizeof seen - 1, strlen(MAPPED_B) };
	char *got = wire_maps_text(&t);

	is_str(got, A, "a line that is just being written is passed over");
	free(got);
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 2000);

	test_examples();
	test_unfinished();
	seeds_try(s, run, "random objects");
	seeds_try(s, run_damaged, "damaged texts");
	return tap_end();
}
