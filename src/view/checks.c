#include <config.h>

#include "view/checks.h"

#include "ui/json.h"

#include <inttypes.h>

void
checks_print(const struct checks *c, FILE *f)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct check *check = &c->v[i];

		if (!check->holds)
			fprintf(f,
				"Check failed: %s: %" PRIu64 ", %s: %" PRIu64
				", difference %+" PRId64 "%s.\n",
				check->ours_what, check->ours, check->theirs_what, check->theirs,
				(int64_t)(check->ours - check->theirs),
				c->has_run ? " (the process ran meanwhile)" : "");
	}
}

json_t *
checks_json(const struct checks *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->nr; i++) {
		const struct check *check = &c->v[i];

		json_array_append_new(list,
			json_pack("{s:s, s:o, s:o, s:o, s:b}", "name", check->name, "ours",
				ui_json_number(check->ours), "theirs",
				ui_json_number(check->theirs), "difference",
				ui_json_number(check->ours > check->theirs
						? check->ours - check->theirs
						: check->theirs - check->ours),
				"holds", check->holds));
	}
	return list;
}
