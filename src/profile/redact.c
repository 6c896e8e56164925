#include <config.h>

#include "profile/redact.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <nettle/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "os/stranger.h"
#include "profile/allocators.h"
#include "profile/symbols.h"

#define KEY_BYTES 32

/* ---- the key ---- */

int
redact_random_key(struct text *ret, struct err *e)
{
	auto_text struct text key = { .v = malloc(KEY_BYTES), .len = KEY_BYTES };

	if (!key.v)
		return err_set(e, ENOMEM, "cannot make a key");
	if (getrandom(key.v, KEY_BYTES, 0) != KEY_BYTES)
		return err_set(e, errno, "cannot make a key");
	*ret = key;
	key.v = NULL;
	return 0;
}

int
redact_read_key(struct text *ret, const char *path, struct err *e)
{
	auto_text struct text key = { 0 };
	auto_fd int fd = os_open(path, OS_REGULAR, e);

	if (fd < 0 || os_read_whole(&key, fd, path, e) < 0)
		return -1;
	if (key.len < REDACT_LEAST_KEY_BYTES) {
		err_set_kind(e, ERR_USAGE, 0,
			"the key in '%s' is too short: it has %zu bytes of %d", path, key.len,
			REDACT_LEAST_KEY_BYTES);
		return err_hint(e, "'head -c %d /dev/urandom >FILE' makes a key", KEY_BYTES);
	}
	*ret = key;
	key.v = NULL;
	return 0;
}

/* ---- hashes ---- */

/* A profile that is redacted, and its copy. */
struct redactor {
	const struct redact_options *o;
	const struct profile *from;
	struct profile *to;
	struct allocators allocators;
	bool *is_kept; /* by mapping */
};

static void
redactor_release(struct redactor *r)
{
	profile_free(r->to);
	allocators_release(&r->allocators);
	free(r->is_kept);
}
#define auto_redactor __attribute__((cleanup(redactor_release)))

/* Return the first 64 bits of the HMAC of WORD, NAME, FILE ("" for most) and NUMBER. */
static uint64_t
redact_hash(const struct redact_options *o, const char *word, const char *name, const char *file,
	uint64_t number)
{
	struct hmac_sha256_ctx context;
	uint64_t hash;

	hmac_sha256_set_key(&context, o->key.len, (const uint8_t *)o->key.v);
	/* With their NULs, so that no two triples are the same bytes. */
	hmac_sha256_update(&context, strlen(word) + 1, (const uint8_t *)word);
	hmac_sha256_update(&context, strlen(name) + 1, (const uint8_t *)name);
	hmac_sha256_update(&context, strlen(file) + 1, (const uint8_t *)file);
	hmac_sha256_update(&context, sizeof number, (const uint8_t *)&number);
	hmac_sha256_digest(&context, sizeof hash, (uint8_t *)&hash);
	return hash;
}

const char *
redact_word(const struct redact_options *o, const char *word, const char *name,
	char buf[REDACT_WORD_BYTES])
{
	snprintf(buf, REDACT_WORD_BYTES, "%s-%016" PRIx64, word, redact_hash(o, word, name, "", 0));
	return buf;
}

/* ---- objects ---- */

/* True if the object BASE is one of the comma-separated names in LIST. */
static bool
redact_is_listed(const char *list, const char *base)
{
	for (size_t len; list && *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len && strncmp(base, list, len) == 0 &&
			(!base[len] || base[len] == '.' ||
				(base[len] == '-' && isdigit((unsigned char)base[len + 1]))))
			return true;
	}
	return false;
}

/* Return the word for the object PATH. */
static const char *
object_word(const char *path)
{
	return is_allocator_library(path) ? "allocator" : "object";
}

/*
 * Return the new name of the object PATH, owned by the caller: "/dir-HASH/object-HASH.so".  Its
 * directory stays apart from its base name, by which a report adds up objects.  NULL if memory runs
 * out.
 */
static char *
redact_object(const struct redactor *r, const char *path, bool is_kept)
{
	const char *base = basename(path);
	auto_free char *dir = strndup(path, (size_t)(base - path));
	char in[REDACT_WORD_BYTES + 2] = "/", name[REDACT_WORD_BYTES];
	char *ret;

	if (!dir)
		return NULL;
	redact_word(r->o, "dir", dir, in + 1);
	redact_word(r->o, object_word(path), base, name);
	return asprintf(&ret, "%s%s%s%s%s", is_interpreter(path) ? "/lib-dynload" : "",
		       *dir ? in : "", *dir ? "/" : "", is_kept ? base : name,
		       !is_kept && symbols_is_library(path) ? ".so" : "") < 0
		? NULL
		: ret;
}

/* Each mapping gets a range of this size, in which its frames are numbered. */
#define RANGE_BYTES (UINT64_C(1) << 40)
#define FRAME_BYTES 16

static int
redact_mappings(struct redactor *r, struct err *e)
{
	r->is_kept = calloc(r->from->mappings.nr + 1, sizeof *r->is_kept);
	if (!r->is_kept)
		return err_set(e, ENOMEM, "cannot redact the profile");
	for (size_t i = 0; i < r->from->mappings.nr; i++) {
		const struct profile_mapping *m = &r->from->mappings.v[i];
		auto_free char *path = NULL;
		char id[REDACT_WORD_BYTES] = "";

		r->is_kept[i] = redact_is_listed(r->o->keep, basename(m->path));
		path = *m->path ? redact_object(r, m->path, r->is_kept[i]) : strdup("");
		if (!path)
			return err_set(e, ENOMEM, "cannot redact the profile");
		if (*m->build_id)
			snprintf(id, sizeof id, "%016" PRIx64,
				redact_hash(r->o, "build-id", m->build_id, "", 0));
		if (profile_add_mapping(r->to, (i + 1) * RANGE_BYTES, (i + 2) * RANGE_BYTES, 0,
			    path, id, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- functions ---- */

/*
 * Write the new name of the function NAME to BUF, and return it.  It says which part the function
 * has in a report, as "<" does of the code of a module of Python.
 */
static const char *
redact_function(const struct redactor *r, const char *name, char *buf, size_t size)
{
	const char *word = allocators_have(&r->allocators, name) ? "allocator"
		: is_library_helper(name)			 ? "library"
								 : "function";
	char text[REDACT_WORD_BYTES];

	redact_word(r->o, word, name, text);
	snprintf(buf, size, *name == '<' ? "<%s>" : "%s", text);
	return buf;
}

/* Write the new name of the source FILE to BUF; that of Python stays one. */
static void
redact_file(const struct redactor *r, const char *file, char *buf, size_t size)
{
	const size_t len = strlen(file);
	const bool is_python = *file == '<' || (len > 3 && strcmp(file + len - 3, ".py") == 0);
	char name[REDACT_WORD_BYTES];

	snprintf(buf, size, "%s%s", *file ? redact_word(r->o, "file", file, name) : "",
		is_python ? ".py" : "");
}

/* Return a number in the place of the line number of L. */
static uint32_t
redact_number(const struct redactor *r, const struct profile_line *l)
{
	const struct profile_function *f = &r->from->functions.v[l->function];

	return l->line
		? 1 + (uint32_t)(redact_hash(r->o, "line", f->name, f->file, l->line) % INT32_MAX)
		: 0;
}

static int
redact_line(struct redactor *r, uint32_t frame, const struct profile_line *l, struct err *e)
{
	const struct profile_function *f = &r->from->functions.v[l->function];
	char name[REDACT_WORD_BYTES + 8], file[REDACT_WORD_BYTES + 8];
	const bool is_public = is_public_allocator(f->name) || !*f->name;

	redact_file(r, f->file, file, sizeof file);
	return profile_add_line(r->to, frame,
		is_public ? f->name : redact_function(r, f->name, name, sizeof name), file,
		redact_number(r, l), e);
}

/* Keep the names of L, but not the directory of the source, which may be a user's. */
static int
keep_line(struct redactor *r, uint32_t frame, const struct profile_line *l, struct err *e)
{
	const struct profile_function *f = &r->from->functions.v[l->function];
	const char *base = basename(f->file);
	auto_free char *dir = strndup(f->file, (size_t)(base - f->file));
	auto_free char *file = NULL;
	char name[REDACT_WORD_BYTES];

	if (!dir ||
		asprintf(&file, "%s%s%s", *dir ? redact_word(r->o, "dir", dir, name) : "",
			*dir ? "/" : "", base) < 0)
		return err_set(e, ENOMEM, "cannot redact the profile");
	return profile_add_line(r->to, frame, f->name, file, l->line, e);
}

/* Name FRAME, which has no function, after its place in the object or in memory. */
static int
redact_place(struct redactor *r, uint32_t frame, struct err *e)
{
	const struct profile_frame *f = &r->from->frames.v[frame];
	const struct profile_mapping *m =
		f->mapping_1 ? &r->from->mappings.v[f->mapping_1 - 1] : NULL;
	const bool has_file = m && *m->path;
	const uint64_t pc = profile_frame_pc(f);
	char name[REDACT_WORD_BYTES];

	snprintf(name, sizeof name, "place-%016" PRIx64,
		redact_hash(r->o, "place", has_file ? m->path : "", "",
			has_file ? pc - m->start + m->offset_bytes : pc));
	return profile_add_line(r->to, frame, name, "", 0, e);
}

/* Add the functions of FRAME. */
static int
redact_lines(struct redactor *r, uint32_t frame, struct err *e)
{
	const struct profile_frame *f = &r->from->frames.v[frame];
	const bool is_kept = f->mapping_1 && r->is_kept[f->mapping_1 - 1];

	if (!f->nr_lines)
		return redact_place(r, frame, e);
	for (uint32_t k = 0; k < f->nr_lines; k++) {
		const struct profile_line *l = &r->from->lines.v[f->first_line + k];

		if ((is_kept ? keep_line : redact_line)(r, frame, l, e) < 0)
			return -1;
	}
	return 0;
}

static int
redact_frames(struct redactor *r, struct err *e)
{
	uint32_t added;

	for (uint32_t i = 0; i < r->from->frames.nr; i++) {
		const struct profile_frame *f = &r->from->frames.v[i];
		const uint64_t address =
			f->mapping_1 * RANGE_BYTES + (i + UINT64_C(1)) * FRAME_BYTES;

		if (profile_add_frame(r->to, address, f->is_exact, f->mapping_1, &added, e) < 0 ||
			redact_lines(r, i, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- samples ---- */

static int
redact_threads(struct redactor *r, struct err *e)
{
	for (size_t i = 0; i < r->from->threads.nr; i++) {
		const struct profile_thread *t = &r->from->threads.v[i];
		const int64_t tid = r->o->keeps_ids || !t->tid ? t->tid : (int64_t)i + 1;
		char name[REDACT_WORD_BYTES];
		uint32_t added;

		if (profile_thread(r->to, tid,
			    *t->name ? redact_word(r->o, "thread", t->name, name) : "", &added,
			    e) < 0)
			return -1;
	}
	return 0;
}

static int
redact_samples(struct redactor *r, struct err *e)
{
	const struct profile *from = r->from;

	for (size_t i = 0; i < from->stacks.nr; i++) {
		const struct profile_stack *s = &from->stacks.v[i];
		uint32_t added;

		if (profile_stack(r->to, &from->stack_frames.v[s->first], s->nr, &added, e) < 0)
			return -1;
	}
	for (size_t i = 0; i < from->samples.nr; i++)
		if (profile_add_sample(r->to, from->samples.v[i], profile_values(from, i), e) < 0)
			return -1;
	return 0;
}

/* ---- the whole ---- */

static int
redact_types(struct redactor *r, struct err *e)
{
	for (size_t i = 0; i < r->from->types.nr; i++)
		if (profile_add_type(r->to, r->from->types.v[i].name, r->from->types.v[i].unit, e) <
			0)
			return -1;
	r->to->default_type = r->from->default_type;
	return 0;
}

static int
redact_comments(struct redactor *r, struct err *e)
{
	char text[REDACT_WORD_BYTES];

	for (size_t i = 0; i < r->from->comments.nr; i++)
		if (profile_comment(r->to,
			    redact_word(r->o, "comment", r->from->comments.v[i], text), e) < 0)
			return -1;
	return 0;
}

int
redact_profile(struct profile **ret, const struct profile *p, const struct redact_options *o,
	struct err *e)
{
	auto_redactor struct redactor r = { .o = o, .from = p, .to = profile_new() };

	if (!r.to)
		return err_set(e, ENOMEM, "cannot redact the profile");
	if (allocators_compile(&r.allocators, e) < 0 || redact_types(&r, e) < 0 ||
		redact_mappings(&r, e) < 0 || redact_frames(&r, e) < 0 ||
		redact_threads(&r, e) < 0 || redact_samples(&r, e) < 0 ||
		redact_comments(&r, e) < 0)
		return -1;
	r.to->is_partial = p->is_partial;
	r.to->period_bytes = p->period_bytes;
	r.to->pid = o->keeps_ids ? p->pid : 0;
	r.to->time_ns = o->keeps_times ? p->time_ns : 0;
	r.to->format = p->format;
	*ret = take_ptr(&r.to);
	return 0;
}
