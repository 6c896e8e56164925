#include <config.h>

#include "account/pair.h"

#include <string.h>

#include "account/growth-mappings.h"
#include "account/rows.h"
#include "base/text.h"

static int
check_kind(struct saved_pair *p, struct err *e)
{
	const char *was = saved_command(p->was), *is = saved_command(p->is);

	if (strcmp(was, is) != 0)
		return err_set(e, 0,
			"%s is of 'memdiag %s', %s of 'memdiag %s': only two of the same kind can be compared",
			p->file[0], was, p->file[1], is);
	p->what = comparable_find(is);
	if (!p->what)
		return err_set(e, 0,
			"what 'memdiag %s' writes cannot be compared, only that of info, maps, heap, types and retained",
			is);
	return 0;
}

static json_t *
data_of(json_t *document, const char *member)
{
	return json_object_get(json_object_get(document, "data"), member);
}

/* Check the grouping: maps can group its rows in several ways, or not at all. */
static int
check_by(struct saved_pair *p, struct err *e)
{
	const char *was = json_string_value(data_of(p->was, "by"));
	const char *is = json_string_value(data_of(p->is, "by"));
	char a[32], b[32];

	if (p->what->list[0] == &maps_growth &&
		!saved_is_same_filter(json_object_get(p->was, "data"), data_of(p->is, "filter")))
		return err_set(e, 0,
			"they were saved with different --class, --object or --range, and cannot be compared");
	if (p->what->list[0] != &maps_growth)
		return 0;
	if (was && is && strcmp(was, is) == 0) {
		if (strcmp(is, rows_by_names[BY_MAPPING]) != 0)
			return 0;
		p->what = &maps_by_mapping;
		return growth_match_mappings(
			data_of(p->was, "mappings"), data_of(p->is, "mappings"), e);
	}
	return err_set(e, 0, "they are added up by %s and by %s, and cannot be compared",
		text_printable(was ? was : "nothing", a, sizeof a),
		text_printable(is ? is : "nothing", b, sizeof b));
}

/* Compare all lists that both documents have; the others stay empty. */
static int
compare_lists(struct saved_pair *p, struct err *e)
{
	size_t nr = 0;

	for (size_t i = 0; i < COMPARABLE_LISTS && p->what->list[i]; i++) {
		const struct growth_list *list = p->what->list[i];
		json_auto_t *was = growth_rows(list, json_object_get(p->was, "data"));
		json_auto_t *is = growth_rows(list, json_object_get(p->is, "data"));

		if (!was || !is) {
			warnings_add(&p->warnings, true, "%s has no %s: that is not compared",
				p->file[was != NULL], list->member);
			continue;
		}
		if (growth_find(&p->growth[i], list, was, is, e) < 0)
			return err_context(e, "comparing %s with %s", p->file[0], p->file[1]);
		nr++;
	}
	if (!nr)
		return err_set(e, 0, "%s and %s have nothing that can be compared", p->file[0],
			p->file[1]);
	return 0;
}

/* Compare both documents, which are of one kind. */
static int
pair_compare(struct saved_pair *p, struct err *e)
{
	char a[96], b[96];

	if (compare_lists(p, e) < 0)
		return -1;
	if (!saved_is_same_target(p->was, p->is))
		warnings_add(&p->warnings, false, "they are of two processes: %s and %s",
			saved_target(p->was, a, sizeof a), saved_target(p->is, b, sizeof b));
	for (int i = 0; i < (p->is_live ? 1 : 2); i++)
		if (json_is_true(json_object_get(i ? p->is : p->was, "partial")))
			warnings_add(&p->warnings, true, "%s is partial: some of it is missing",
				p->file[i]);
	return 0;
}

int
saved_pair_compare(struct saved_pair *p, const char *before, const char *after, struct err *e)
{
	p->file[0] = before;
	p->file[1] = after;
	if (saved_read(&p->was, before, e) < 0 || saved_read(&p->is, after, e) < 0 ||
		check_kind(p, e) < 0 || check_by(p, e) < 0)
		return -1;
	return pair_compare(p, e);
}

int
saved_pair_begin(struct saved_pair *p, const char *before, const char *command, struct err *e)
{
	p->file[0] = before;
	p->file[1] = "the process";
	if (saved_read(&p->was, before, e) < 0)
		return -1;
	p->what = comparable_find(command);
	if (strcmp(saved_command(p->was), command) != 0)
		return err_set(e, 0, "%s is of 'memdiag %s', not of 'memdiag %s'", before,
			saved_command(p->was), command);
	return 0;
}

int
saved_pair_end(struct saved_pair *p, json_t *is, struct err *e)
{
	p->is = json_incref(is);
	p->is_live = true;
	return pair_compare(p, e);
}

void
saved_pair_release(struct saved_pair *p)
{
	for (size_t i = 0; i < COMPARABLE_LISTS; i++)
		growth_release(&p->growth[i]);
	json_decref(p->was);
	json_decref(p->is);
	warnings_release(&p->warnings);
}
