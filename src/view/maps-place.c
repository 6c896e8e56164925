/* 'memdiag maps --at ADDR'. */
#include <config.h>

#include "view/maps-place.h"

#include <errno.h>

#include "base/text.h"
#include "maps/leaves.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/json.h"
#include "ui/units.h"
#include "view/maps-file.h"

#define PATH_BYTES 4096

/* ---- text ---- */

static void
print_part(FILE *f, const struct place *p, const struct space *s, const struct ui_options *ui)
{
	const struct leaf *l = p->part;

	fprintf(f, "class    %s: %s%s\n", group_name(leaf_kind_group((enum leaf_kind)l->kind)),
		leaf_kind_name((enum leaf_kind)l->kind),
		l->confidence == CONFIDENCE_GUESS ? " ?" : "");
	if (l->start.v == p->mapping->start.v && l->end.v == p->mapping->end.v)
		return;
	fprintf(f, "part     %012" PRIx64 "-%012" PRIx64 "  VIRT %s  RSS %s\n", l->start.v,
		l->end.v, UI_SIZE(ui, l->end.v - l->start.v),
		s->rss_from != SPACE_RSS_NONE ? UI_SIZE(ui, l->rss_bytes) : "?");
}

/* Print the owner of the address. */
static void
print_owner(FILE *f, const struct place *p, const struct target *t)
{
	char path[PATH_BYTES], name[OS_COMM_BYTES * 4];

	if (p->object)
		fprintf(f, "object   %s+0x%" PRIx64 "\n",
			text_printable(p->object->path, path, sizeof path),
			p->addr.v - p->object->start.v);
	if (region_has_file(p->mapping))
		fprintf(f, "file     offset 0x%" PRIx64 "\n",
			p->mapping->offset_bytes + (p->addr.v - p->mapping->start.v));
	if (p->arena)
		fprintf(f, "arena    %d%s, struct malloc_state at " PRIraddr "\n",
			(int)p->part->arena, p->arena->is_main ? " (main)" : "", p->arena->addr.v);
	if (p->part->tid)
		fprintf(f, "thread   %d %s\n", (int)p->part->tid,
			t ? os_thread_name(t, p->part->tid, name, sizeof name) : "?");
}

void
maps_place_text(struct ui_output *out, const struct ui_options *ui, const struct place *p,
	const struct space *s, const struct target *t)
{
	const struct region *r;
	bool has_rss;
	char path[PATH_BYTES];

	if (t)
		fprintf(out->f, "%s %d", t->comm, (int)t->pid);
	else
		fputs(s->file->name, out->f);
	fprintf(out->f, "  address " PRIraddr "\n", p->addr.v);
	r = p->mapping;
	has_rss = s->rss_from != SPACE_RSS_NONE;
	fprintf(out->f, "mapping  %012" PRIx64 "-%012" PRIx64 "  %s  %s\n", r->start.v, r->end.v,
		r->prot, r->path ? text_printable(r->path, path, sizeof path) : "(anonymous)");
	fprintf(out->f, "         VIRT %s  RSS %s  swap %s\n", UI_SIZE(ui, r->end.v - r->start.v),
		has_rss ? UI_SIZE(ui, p->rss_bytes) : "?",
		has_rss && space_knows(s, SMAPS_SWAP) ? UI_SIZE(ui, p->swap_bytes) : "?");
	print_part(out->f, p, s, ui);
	print_owner(out->f, p, t);
	if (p->part->confidence == CONFIDENCE_GUESS)
		fputs(UI_GUESS_LEGEND, out->f);
}

/* ---- JSON ---- */

static json_t *
counted(uint64_t bytes, const struct space *s)
{
	return s->rss_from == SPACE_RSS_NONE ? json_null() : ui_json_number(bytes);
}

static json_t *
mapping_to_json(const struct place *p, const struct space *s)
{
	const struct region *r = p->mapping;
	json_t *o = json_object();

	json_object_set_new(o, "address", ui_json_address(p->addr));
	json_object_set_new(o, "start", ui_json_address(r->start));
	json_object_set_new(o, "end", ui_json_address(r->end));
	json_object_set_new(o, "prot", json_string(r->prot));
	json_object_set_new(o, "path", r->path ? ui_json_string(r->path) : json_null());
	json_object_set_new(o, "file_offset_bytes",
		region_has_file(r) ? ui_json_number(r->offset_bytes + (p->addr.v - r->start.v))
				   : json_null());
	json_object_set_new(o, "virt_bytes", ui_json_number(r->end.v - r->start.v));
	json_object_set_new(o, "rss_bytes", counted(p->rss_bytes, s));
	json_object_set_new(o, "swap_bytes",
		space_knows(s, SMAPS_SWAP) ? counted(p->swap_bytes, s) : json_null());
	return o;
}

static void
set_part(json_t *o, const struct place *p, const struct space *s)
{
	const struct leaf *l = p->part;

	json_object_set_new(
		o, "class", json_string(group_name(leaf_kind_group((enum leaf_kind)l->kind))));
	json_object_set_new(o, "part", json_string(leaf_kind_name((enum leaf_kind)l->kind)));
	json_object_set_new(
		o, "confidence", json_string(confidence_name((enum confidence)l->confidence)));
	json_object_set_new(o, "part_start", ui_json_address(l->start));
	json_object_set_new(o, "part_end", ui_json_address(l->end));
	json_object_set_new(o, "part_rss_bytes", counted(l->rss_bytes, s));
	json_object_set_new(o, "object", p->object ? ui_json_string(p->object->path) : json_null());
	json_object_set_new(o, "object_offset_bytes",
		p->object ? ui_json_number(p->addr.v - p->object->start.v) : json_null());
	json_object_set_new(o, "arena", p->arena ? json_integer(l->arena) : json_null());
	json_object_set_new(
		o, "arena_address", p->arena ? ui_json_address(p->arena->addr) : json_null());
	json_object_set_new(o, "tid", l->tid ? json_integer(l->tid) : json_null());
}

int
maps_place_json(struct ui_output *out, const struct place *p, const struct space *s,
	const struct target *t, const struct warnings *warnings, struct err *e)
{
	json_auto_t *document = ui_json_new("maps", t);
	json_t *data = json_object_get(document, "data"), *at = mapping_to_json(p, s);

	set_part(at, p, s);
	if (s->file)
		json_object_set_new(data, "from", maps_file_json(s));
	json_object_set_new(data, "by", json_string("address"));
	if (json_object_set_new(data, "at", at) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	if (warnings)
		warnings_to_json(warnings, document);
	else if (s->rss_error.kind)
		ui_json_warn(document, true, "%s", s->rss_error.msg);
	if (s->memory_error.kind)
		ui_json_warn(document, true, "%s", s->memory_error.msg);
	return ui_json_print(document, out, e);
}
