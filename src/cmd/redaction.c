#include <config.h>

#include "cmd/redaction.h"

#include <string.h>

/* ---- options ---- */

#define AT(member) UI_AT(struct redaction_options, member)

static const struct ui_option options[] = {
	{ "redact", 0, NULL, 4,
		"write keyed hashes in the place of names, so that the report may be given away: of "
		"functions, files, objects, threads, processes, hosts, build IDs and comments; "
		"without addresses, PIDs and times",
		UI_FLAG, AT(is_wanted) },
	{ "redact-key", 0, "FILE", 4,
		"with --redact: take the key from FILE, so that reports of several runs have the "
		"same hashes; FILE stays secret (a random key)",
		UI_FILE, AT(key_file) },
	{ "keep", 0, "LIST", 4,
		"with --redact: keep the names of functions in these objects: libc,libstdc++",
		UI_STRING, AT(redact.keep) },
	{ "keep-ids", 0, NULL, 4, "with --redact: keep PIDs and TIDs", UI_FLAG,
		AT(redact.keeps_ids) },
	{ "keep-times", 0, NULL, 4, "with --redact: keep times", UI_FLAG, AT(redact.keeps_times) },
	{ 0 },
};

#define NEEDS(member)                                                                              \
	UI_RULE(UI_NEEDS, struct redaction_options, member, is_wanted,                             \
		"--redact-key, --keep, --keep-ids and --keep-times are for --redact")

static const struct ui_rule rules[] = {
	NEEDS(key_file),
	NEEDS(redact.keep),
	NEEDS(redact.keeps_ids),
	NEEDS(redact.keeps_times),
	{ 0 },
};

const struct ui_syntax redaction_syntax = { .options = options, .rules = rules };

/* ---- the report ---- */

int
redaction_begin(struct redaction_options *o, struct err *e)
{
	if (!o->is_wanted)
		return 0;
	return o->key_file ? redact_read_key(&o->redact.key, o->key_file, e)
			   : redact_random_key(&o->redact.key, e);
}

void
redaction_release(struct redaction_options *o)
{
	if (o->redact.key.v)
		explicit_bzero(o->redact.key.v, o->redact.key.len);
	text_release(&o->redact.key);
}

/* Count the warnings of W in R: they have names in any place. */
static void
redact_warnings(struct redaction *r, const struct warnings *w)
{
	if (w->nr)
		warnings_add(&r->warnings, w->is_partial,
			"%zu warnings are left out, because they may have names", w->nr);
	r->warnings.is_partial = w->is_partial;
}

int
redaction_apply(struct redaction *r, const struct redaction_options *o, struct profile **p,
	struct report_view *v, const struct warnings *w, struct err *e)
{
	struct profile *copy;

	if (!o->is_wanted)
		return 0;
	if (redact_profile(&copy, *p, &o->redact, e) < 0)
		return -1;
	profile_free(*p);
	*p = copy;
	v->p = copy;
	v->file = redact_word(&o->redact, "profile", v->file, r->file);
	if (v->base)
		v->base = redact_word(&o->redact, "profile", v->base, r->base);
	v->has_no_time = !o->redact.keeps_times;
	redact_warnings(r, w);
	return 0;
}
