/*
 * firefox: a profile as the Firefox Profiler reads it: its processed format, version 60, which
 * later versions read too (docs-developer/CHANGELOG-formats.md and src/types/profile.ts of
 * firefox-devtools/profiler).  All threads of that format share one table of stacks; here each type
 * of values is a thread, as the profiler's own importer makes them of DHAT's files.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "report/calls.h"
#include "report/format.h"
#include "report/text.h"
#include "report/tree.h"
#include "ui/json.h"
#include "ui/ui.h"

/* The owners of code, in the order of enum calls_code, after one that the format needs. */
#define FIREFOX_CATEGORIES                                                                         \
	"[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"                  \
	"{\"name\":\"Program\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"                 \
	"{\"name\":\"Library\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"                \
	"{\"name\":\"Allocator\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}]"

/* Different names, sorted. */
struct firefox_names {
	const char **v; /* the names are the calls' */
	size_t nr;
};

/*
 * A profile that is being written.  Its strings are the names of all nodes, then the files, then
 * the objects.
 */
struct firefox_writer {
	const struct report_view *v;
	const struct calls *c;
	struct tree tree;
	struct firefox_names files, objects;
	FILE *f;
};

/* ---- names that nodes share ---- */

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *
node_text(const struct calls_node *n, size_t member)
{
	const char *text;

	memcpy(&text, (const char *)n + member, sizeof text);
	return text;
}

/* Collect the different texts of the nodes at offset MEMBER that are not empty. */
static int
collect_names(struct firefox_names *to, const struct calls *c, size_t member, struct err *e)
{
	size_t nr = 0;

	to->v = calloc(c->nodes.nr + 1, sizeof *to->v);
	if (!to->v)
		return err_set(e, ENOMEM, "cannot write the Firefox Profiler's format");
	for (size_t i = 0; i < c->nodes.nr; i++)
		if (*node_text(&c->nodes.v[i], member))
			to->v[nr++] = node_text(&c->nodes.v[i], member);
	qsort(to->v, nr, sizeof *to->v, by_text);
	for (size_t i = 0; i < nr; i++)
		if (!to->nr || strcmp(to->v[to->nr - 1], to->v[i]) != 0)
			to->v[to->nr++] = to->v[i];
	return 0;
}

static void
firefox_release(struct firefox_writer *w)
{
	tree_release(&w->tree);
	free(w->files.v);
	free(w->objects.v);
}
#define auto_firefox __attribute__((cleanup(firefox_release)))

/* ---- columns ---- */

/* Print a column KEY of NR elements that are all VALUE. */
static void
put_same(FILE *f, const char *key, const char *value, size_t nr)
{
	fprintf(f, ",\"%s\":[", key);
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "%s%s", i ? "," : "", value);
	putc(']', f);
}

/* Print a column KEY with the numbers from FIRST on. */
static void
put_numbers_from(FILE *f, const char *key, size_t first, size_t nr)
{
	fprintf(f, ",\"%s\":[", key);
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "%s%zu", i ? "," : "", first + i);
	putc(']', f);
}

/*
 * Print a column KEY with the number that the text at offset MEMBER of each node has in NAMES, or
 * IF_EMPTY.
 */
static void
put_texts_of_nodes(struct firefox_writer *w, const char *key, const struct firefox_names *names,
	size_t member, const char *if_empty)
{
	fprintf(w->f, ",\"%s\":[", key);
	for (size_t i = 0; i < w->c->nodes.nr; i++) {
		const char *text = node_text(&w->c->nodes.v[i], member);
		const char **at = *text
			? bsearch(&text, names->v, names->nr, sizeof *names->v, by_text)
			: NULL;

		fputs(i ? "," : "", w->f);
		if (at)
			fprintf(w->f, "%td", at - names->v);
		else
			fputs(if_empty, w->f);
	}
	putc(']', w->f);
}

static int
put_string_array(struct firefox_writer *w, struct err *e)
{
	const struct firefox_names *const lists[] = { &w->files, &w->objects };

	fputs("\"stringArray\":[\"memdiag\"", w->f);
	for (size_t i = 0; i < w->c->nodes.nr; i++) {
		fputs(",\n", w->f);
		if (ui_json_put_string(w->c->nodes.v[i].name, w->f, e) < 0)
			return -1;
	}
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
		for (size_t i = 0; i < lists[k]->nr; i++) {
			fputs(",\n", w->f);
			if (ui_json_put_string(lists[k]->v[i], w->f, e) < 0)
				return -1;
		}
	putc(']', w->f);
	return 0;
}

/* A function of each node. */
static void
put_func_table(struct firefox_writer *w)
{
	const size_t nr = w->c->nodes.nr;

	fprintf(w->f, ",\n\"funcTable\":{\"length\":%zu", nr);
	put_numbers_from(w->f, "name", 1, nr);
	put_same(w->f, "isJS", "false", nr);
	put_same(w->f, "relevantForJS", "false", nr);
	put_texts_of_nodes(w, "resource", &w->objects, offsetof(struct calls_node, object), "-1");
	put_texts_of_nodes(w, "source", &w->files, offsetof(struct calls_node, file), "null");
	put_same(w->f, "lineNumber", "null", nr);
	put_same(w->f, "columnNumber", "null", nr);
	putc('}', w->f);
}

/* A frame of each node. */
static void
put_frame_table(struct firefox_writer *w)
{
	const struct calls *c = w->c;
	const size_t nr = c->nodes.nr;

	fprintf(w->f, ",\n\"frameTable\":{\"length\":%zu", nr);
	put_numbers_from(w->f, "func", 0, nr);
	put_same(w->f, "address", "-1", nr);
	put_same(w->f, "inlineDepth", "0", nr);
	fputs(",\"category\":[", w->f);
	for (size_t i = 0; i < nr; i++)
		fprintf(w->f, "%s%d", i ? "," : "", 1 + (int)c->nodes.v[i].code);
	putc(']', w->f);
	put_same(w->f, "subcategory", "0", nr);
	put_same(w->f, "nativeSymbol", "null", nr);
	put_same(w->f, "innerWindowID", "null", nr);
	fputs(",\"line\":[", w->f);
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? "," : "", w->f);
		if (c->options.by == CALLS_BY_LINE && c->nodes.v[i].line)
			fprintf(w->f, "%" PRIu32, c->nodes.v[i].line);
		else
			fputs("null", w->f);
	}
	putc(']', w->f);
	put_same(w->f, "column", "null", nr);
	putc('}', w->f);
}

/* Objects are "resources", which refer to "libs"; files are "sources". */
static void
put_places(struct firefox_writer *w)
{
	const size_t first_file = 1 + w->c->nodes.nr;

	fprintf(w->f, ",\n\"resourceTable\":{\"length\":%zu", w->objects.nr);
	put_numbers_from(w->f, "lib", 0, w->objects.nr);
	put_numbers_from(w->f, "name", first_file + w->files.nr, w->objects.nr);
	put_same(w->f, "host", "null", w->objects.nr);
	put_same(w->f, "type", "1", w->objects.nr);
	fprintf(w->f, "},\n\"sources\":{\"length\":%zu", w->files.nr);
	put_same(w->f, "uuid", "null", w->files.nr);
	put_numbers_from(w->f, "filename", first_file, w->files.nr);
	fputs("},\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]}",
		w->f);
}

/* The elements of the tree, without its root. */
static void
put_stack_table(struct firefox_writer *w)
{
	const struct tree *t = &w->tree;

	fprintf(w->f, ",\n\"stackTable\":{\"length\":%zu,\"frame\":[", t->nr - 1);
	for (size_t i = 1; i < t->nr; i++)
		fprintf(w->f, "%s%" PRIu32, i > 1 ? "," : "", t->v[i].node);
	fputs("],\"prefix\":[", w->f);
	for (size_t i = 1; i < t->nr; i++) {
		fputs(i > 1 ? "," : "", w->f);
		if (t->v[i].parent)
			fprintf(w->f, "%" PRIu32, t->v[i].parent - 1);
		else
			fputs("null", w->f);
	}
	fputs("]}", w->f);
}

/* ---- threads ---- */

/* The samples with a value of TYPE.  They have no time: one follows another. */
static void
put_type_samples(struct firefox_writer *w, size_t type)
{
	const struct calls *c = w->c;
	size_t nr = 0;

	fputs("\"samples\":{\"stack\":[", w->f);
	for (size_t i = 0; i < c->paths.nr; i++) {
		const uint32_t at = w->tree.of_path[i];

		if (!profile_values(c->p, c->paths.v[i].sample)[type])
			continue;
		fputs(nr++ ? "," : "", w->f);
		if (at)
			fprintf(w->f, "%" PRIu32, at - 1);
		else
			fputs("null", w->f);
	}
	fputs("],\"weight\":[", w->f);
	for (size_t i = 0, k = 0; i < c->paths.nr; i++) {
		const int64_t value = profile_values(c->p, c->paths.v[i].sample)[type];

		if (value)
			fprintf(w->f, "%s%" PRId64, k++ ? "," : "", value);
	}
	putc(']', w->f);
	put_numbers_from(w->f, "time", 0, nr);
	fprintf(w->f, ",\"weightType\":\"%s\",\"length\":%zu}",
		profile_is_bytes(&c->p->types.v[type]) ? "bytes" : "samples", nr);
}

static int
put_type_thread(struct firefox_writer *w, size_t type, struct err *e)
{
	char text[160];

	fputs("{\"name\":", w->f);
	if (ui_json_put_string(
		    report_type_text(&w->c->p->types.v[type], text, sizeof text), w->f, e) < 0)
		return -1;
	fprintf(w->f,
		",\"pid\":\"0\",\"processName\":\"memory\",\"tid\":%zu,\"isMainThread\":%s,\"processType\":\"default\","
		"\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\n"
		"\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
		"\"endTime\":[],\"phase\":[],\"category\":[]},\n",
		type, type == w->c->options.type ? "true" : "false");
	put_type_samples(w, type);
	putc('}', w->f);
	return 0;
}

/* ---- the profile ---- */

static int
put_meta(struct firefox_writer *w, struct err *e)
{
	fputs("{\"meta\":{\"product\":", w->f);
	if (ui_json_put_string(w->v->file, w->f, e) < 0)
		return -1;
	fprintf(w->f,
		",\"importedFrom\":\"memdiag " PACKAGE_VERSION
		"\",\"preprocessedProfileVersion\":60,\"version\":30,\"interval\":1,"
		"\"startTime\":0,\"processType\":0,\"stackwalk\":0,\"symbolicated\":true,"
		"\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		"\"keepProfileThreadOrder\":true,\"initialSelectedThreads\":[%zu],"
		"\"markerSchema\":[],\n\"categories\":" FIREFOX_CATEGORIES "},\n\"libs\":[",
		w->c->options.type);
	for (size_t i = 0; i < w->objects.nr; i++) {
		const char *const keys[] = {
			"{\"name\":", ",\"path\":", ",\"debugName\":", ",\"debugPath\":"
		};

		fputs(i ? ",\n" : "", w->f);
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
			fputs(keys[k], w->f);
			if (ui_json_put_string(w->objects.v[i], w->f, e) < 0)
				return -1;
		}
		fputs(",\"breakpadId\":\"\",\"codeId\":null,\"arch\":\"\"}", w->f);
	}
	fputs("],\"pages\":[]", w->f);
	return 0;
}

static int
put_profile(struct firefox_writer *w, struct err *e)
{
	if (put_meta(w, e) < 0)
		return -1;
	fputs(",\n\"shared\":{", w->f);
	if (put_string_array(w, e) < 0)
		return -1;
	put_func_table(w);
	put_frame_table(w);
	put_places(w);
	put_stack_table(w);
	fputs("},\n\"threads\":[", w->f);
	for (size_t type = 0; type < w->c->p->types.nr; type++) {
		fputs(type ? ",\n" : "", w->f);
		if (put_type_thread(w, type, e) < 0)
			return -1;
	}
	fputs("]}\n", w->f);
	return 0;
}

static int
report_print_firefox(const struct report_view *v, struct ui_output *out, struct err *e)
{
	auto_calls struct calls c = { 0 };
	auto_firefox struct firefox_writer w = { .v = v, .c = &c, .f = out->f };

	if (calls_make_whole(&c, v->c, e) < 0 || tree_make(&w.tree, &c, e) < 0 ||
		collect_names(&w.files, &c, offsetof(struct calls_node, file), e) < 0 ||
		collect_names(&w.objects, &c, offsetof(struct calls_node, object), e) < 0)
		return -1;
	return put_profile(&w, e);
}

const struct report_format report_format_firefox = { "firefox", 0, 0, report_print_firefox,
	"file for profiler.firefox.com" };
