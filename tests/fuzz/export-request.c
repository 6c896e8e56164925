/*
 * Whatever a client asks memdiag export, and whatever a condition or a name of groups has, there is
 * an answer that is sound, or a reason.
 */
#include <config.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/exporter.h"
#include "export/match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The lines of the input: its parts. */
enum part { METHOD, PATH, ACCEPT, HOST, GROUP, CONDITION, TEMPLATE, NR_PARTS };

/* Check a condition and the name of a group. */
static void
check_words(const char *condition, const char *template)
{
	struct export_facts facts = {
		.comm = "program", .rss_bytes = 1 << 20, .unit = "program.service"
	};
	struct export_matches m = { 0 };
	char name[EXPORT_NAME_BYTES];
	const char *wrong = export_match_add(&m, condition);

	if ((wrong && !*wrong) || (!wrong && m.nr != 1))
		abort();
	export_matches_take(&m, &facts);
	export_matches_release(&m);
	if (!export_name_check(template) &&
		(!*export_name(template, &facts, name) || strlen(name) >= sizeof name))
		abort();
}

/* Check an answer that has a body. */
static void
check_body(const struct export_answer *a)
{
	json_auto_t *document = NULL;

	if (!a->type || strlen(a->body.v) > a->body.len)
		abort();
	if (strcmp(a->type, "application/json") == 0 &&
		!(document = json_loadb(a->body.v, a->body.len, 0, NULL)))
		abort();
	if (strstr(a->type, "openmetrics") &&
		(a->body.len < 6 || memcmp(a->body.v + a->body.len - 6, "# EOF\n", 6) != 0))
		abort();
}

static void
check_answer(char *const part[NR_PARTS])
{
	/* Of no process, so that an answer takes little time. */
	static char nobody[] = "\001";
	static struct export_match none = { .pattern = { [EXPORT_COMM] = nobody } };
	static const struct export_matches matches = { &none, 1, 1 };
	static struct exporter x = {
		.scan = { .matches = &matches, .template = "{comm}", .max_processes = 4 },
		.names = { .max = 4 },
		.address = "localhost:9"
	};
	const struct export_request q = { .method = part[METHOD],
		.path = part[PATH],
		.accept = part[ACCEPT],
		.host = part[HOST],
		.group = part[GROUP] };
	struct export_answer a;

	exporter_answer(&x, &q, &a);
	if (a.status != 200 && a.status != 400 && a.status != 404 && a.status != 405 &&
		a.status != 503)
		abort();
	if (a.body.v)
		check_body(&a);
	else if (a.status != 503)
		abort();
	export_answer_release(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char empty[] = "";
	auto_free char *text = malloc(size + 1);
	char *part[NR_PARTS], *rest = text;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (int i = 0; i < NR_PARTS; i++) {
		part[i] = rest ? strsep(&rest, "\n") : NULL;
		if (!part[i] && (i == METHOD || i == PATH || i >= CONDITION))
			part[i] = empty;
	}
	check_words(part[CONDITION], part[TEMPLATE]);
	check_answer(part);
	return 0;
}
