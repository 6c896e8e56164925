#include <config.h>

#include "watch/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "os/stranger.h"
#include "ui/json.h"

/* Rows of a table in a file that are read at all. */
#define MOST_ROWS 4096

/* ---- writing ---- */

static json_t *
row_json(const struct watch_table *t, enum watch_view view, const struct watch_row *r)
{
	const char *parent = watch_parent(t, r);
	json_t *ret = json_pack("{s:o, s:o}", "name", ui_json_text(r->name), "parent",
		parent ? ui_json_text(parent) : json_null());

	for (int i = 0; ret && i < WATCH_NUMBERS && watch_views[view].number[i].title; i++)
		json_object_set_new(
			ret, watch_views[view].number[i].member, ui_json_number(r->number[i]));
	return ret;
}

/* Return the table VIEW of S; null if it was not asked for. */
static json_t *
table_json(const struct watch_sample *s, enum watch_view view)
{
	const struct watch_table *t = &s->table[view];
	json_t *rows;

	if (!t->is_read)
		return t->why ? json_pack("{s:o}", "error", ui_json_text(t->why)) : json_null();
	rows = json_array();
	for (size_t i = 0; i < t->nr; i++)
		json_array_append_new(rows, row_json(t, view, &t->v[i]));
	return json_pack("{s:o, s:o, s:b}", "rows", rows, "left_out", ui_json_number(t->nr_more),
		"approximate", t->is_rough);
}

/* The numbers of a sample in "data". */
static const struct sample_member {
	const char *name;
	size_t at;
	bool may_be_unknown; /* null for 0 */
} members[] = {
#define MEMBER(name, member, may)                                                                  \
	{                                                                                          \
		name, offsetof(struct watch_sample, member), may                                   \
	}
	MEMBER("time_ns", time_ns, false),
	MEMBER("virt_bytes", virt_bytes, false),
	MEMBER("rss_bytes", rss_bytes, false),
	MEMBER("swap_bytes", swap_bytes, false),
	MEMBER("hugetlb_bytes", hugetlb_bytes, false),
	MEMBER("peak_rss_bytes", peak_bytes, false),
	MEMBER("limit_bytes", limit_bytes, true),
	MEMBER("limit_used_bytes", used_bytes, true),
	MEMBER("threads", nr_threads, false),
	MEMBER("arenas", nr_arenas, false),
	MEMBER("mappings", nr_mappings, false),
	MEMBER("stopped_ns", stopped_ns, true),
};

#define NR_MEMBERS (sizeof members / sizeof *members)

static json_t *
sample_member_json(const struct watch_sample *s, const struct sample_member *m)
{
	const uint64_t number = *(const uint64_t *)((const char *)s + m->at);

	return m->may_be_unknown && !number ? json_null() : ui_json_number(number);
}

json_t *
watch_sample_json(const struct watch_sample *s, const struct target *t)
{
	json_t *ret = ui_json_new("watch", t);
	json_t *data = json_object_get(ret, "data"), *tables = json_object();

	for (size_t i = 0; i < NR_MEMBERS; i++)
		json_object_set_new(data, members[i].name, sample_member_json(s, &members[i]));
	for (int view = 0; view < NR_WATCH_VIEWS; view++)
		json_object_set_new(
			tables, watch_views[view].name, table_json(s, (enum watch_view)view));
	json_object_set_new(data, "tables", tables);
	return ret;
}

/* ---- reading a line ---- */

/* Store the number NAME of OBJECT in RET.  False if OBJECT has no such number. */
static bool
tape_take_number(const json_t *object, const char *name, uint64_t *ret)
{
	const json_t *number = json_object_get(object, name);

	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(number);
	return true;
}

/* Return the row of T that contains one called NAME; only rows without a parent can. */
static int
find_parent(const struct watch_table *t, const char *name)
{
	const struct watch_row *r = watch_table_find(t, name, NULL);

	return r ? (int)(r - t->v) : WATCH_NO_PARENT;
}

static bool
tape_take_row(struct watch_table *t, enum watch_view view, const json_t *row, struct err *e)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	const json_t *parent = json_object_get(row, "parent");
	struct watch_row *r;

	if (!name || t->nr == MOST_ROWS || (!json_is_string(parent) && !json_is_null(parent)))
		return false;
	r = watch_table_add(t, name,
		json_is_null(parent) ? WATCH_NO_PARENT : find_parent(t, json_string_value(parent)),
		e);
	if (!r || (r->parent == WATCH_NO_PARENT) != json_is_null(parent))
		return false;
	for (int i = 0; i < WATCH_NUMBERS && watch_views[view].number[i].title; i++)
		if (!tape_take_number(row, watch_views[view].number[i].member, &r->number[i]))
			return false;
	return true;
}

/* Fill T from TABLE, a member of "tables".  False if TABLE is invalid, or with E. */
static bool
take_table(struct watch_table *t, enum watch_view view, const json_t *table, struct err *e)
{
	const json_t *rows = json_object_get(table, "rows"), *row;
	const char *why = json_string_value(json_object_get(table, "error"));
	size_t i;

	if (json_is_null(table))
		return true;
	if (why)
		return (t->why = strdup(why));
	if (!json_is_array(rows))
		return false;
	json_array_foreach(rows, i, row) if (!tape_take_row(t, view, row, e)) return false;
	t->is_read = true;
	t->is_rough = json_is_true(json_object_get(table, "approximate"));
	return watch_table_finish(t, e) == 0 && tape_take_number(table, "left_out", &t->nr_more);
}

static bool
take_member(struct watch_sample *s, const json_t *data, const struct sample_member *m)
{
	return (m->may_be_unknown && json_is_null(json_object_get(data, m->name))) ||
		tape_take_number(data, m->name, (uint64_t *)((char *)s + m->at));
}

static bool
take_target(struct watch_sample *s, const json_t *document)
{
	const json_t *target = json_object_get(document, "target");
	const char *comm = json_string_value(json_object_get(target, "comm"));
	uint64_t pid;

	if (!comm || !tape_take_number(target, "pid", &pid) || pid > INT32_MAX)
		return false;
	s->pid = (pid_t)pid;
	snprintf(s->comm, sizeof s->comm, "%s", comm);
	return true;
}

/* Fill S from DOCUMENT.  False if that is no sample, or memory runs out: then with E. */
static bool
take_sample(struct watch_sample *s, const json_t *document, struct err *e)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));
	const json_t *data = json_object_get(document, "data");
	const json_t *tables = json_object_get(data, "tables");

	if (!schema || strcmp(schema, "memdiag.watch/1") != 0 || !take_target(s, document))
		return false;
	for (size_t i = 0; i < NR_MEMBERS; i++)
		if (!take_member(s, data, &members[i]))
			return false;
	for (int view = 0; view < NR_WATCH_VIEWS; view++)
		if (!take_table(&s->table[view], (enum watch_view)view,
			    json_object_get(tables, watch_views[view].name), e))
			return false;
	return true;
}

/* ---- the file ---- */

int
watch_tape_read(struct watch_sample *ret, struct watch_tape *t, size_t nr, struct err *e)
{
	auto_free char *line = NULL;
	json_auto_t *document = NULL;
	size_t room = 0;
	ssize_t len;

	*ret = (struct watch_sample){ 0 };
	errno = 0;
	if (fseeko(t->f, (off_t)t->at.v[nr], SEEK_SET) < 0 ||
		(len = getline(&line, &room, t->f)) < 0)
		return err_set(e, errno, "cannot read %s", t->path);
	document = json_loadb(line, (size_t)len, 0, NULL);
	*e = (struct err){ 0 };
	if (document && take_sample(ret, document, e))
		return 0;
	watch_sample_release(ret);
	return e->msg[0] ? -1
			 : err_set_kind(e, ERR_USAGE, 0, "%s, line %zu: not a sample of watch",
				   t->path, nr + 1);
}

/* Find the lines of T. */
static int
find_lines(struct watch_tape *t, struct err *e)
{
	auto_free char *line = NULL;
	size_t room = 0;
	uint64_t at = 0;
	ssize_t len;

	errno = 0;
	while ((len = getline(&line, &room, t->f)) > 0) {
		uint64_t *begin;

		t->is_cut = line[len - 1] != '\n';
		if (t->is_cut)
			break;
		begin = array_add(&t->at);
		if (!begin)
			return err_set(e, ENOMEM, "cannot read %s", t->path);
		*begin = at;
		at += (uint64_t)len;
	}
	if (ferror(t->f) || (errno == ENOMEM && !feof(t->f)))
		return err_set(e, errno, "cannot read %s", t->path);
	return t->at.nr
		? 0
		: err_set_kind(e, ERR_USAGE, 0,
			  "%s has no sample: 'memdiag watch --save' writes such a file", t->path);
}

int
watch_tape_open(struct watch_tape *t, const char *path, struct err *e)
{
	int fd = os_open(path, OS_REGULAR, e);

	if (fd < 0)
		return -1;
	t->path = path;
	t->f = fdopen(fd, "r");
	if (!t->f) {
		err_set(e, errno, "cannot read %s", path);
		close(fd);
		return -1;
	}
	if (find_lines(t, e) == 0)
		return 0;
	watch_tape_close(t);
	return -1;
}

void
watch_tape_close(struct watch_tape *t)
{
	if (t->f)
		fclose(t->f);
	free(t->at.v);
	*t = (struct watch_tape){ 0 };
}
