#include <config.h>

#include "agentdata/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "os/os.h"
#include "os/status.h"
#include "os/stranger.h"
#include "wire/maps-text.h"
#include "wire/maps.h"

/* ---- the values of a sample ---- */

enum {
	ALLOCATED_OBJECTS, /* of the usual types */
	ALLOCATED_SPACE,
	IN_USE_OBJECTS,
	IN_USE_SPACE,
	PEAK_OBJECTS,
	PEAK_SPACE,
	TEMPORARY_OBJECTS,
	TEMPORARY_SPACE,
	MAPPED_OBJECTS,
	MAPPED_SPACE,
	MAPPED_ALLOCATED_OBJECTS,
	MAPPED_ALLOCATED_SPACE,
	NR_TYPES,
};

static void
collect_set(int64_t *values, int type, struct wire_amount a)
{
	values[type] = sites_blocks(a);
	values[type + 1] = sites_bytes(a);
}

/* ---- samples ---- */

struct collecting {
	struct profile *p;
	const struct sites_copy *sites;
	const struct target *target; /* NULL if the process has ended */
	uint32_t *stack_of;	     /* by site; NULL if not needed */
};

/* Add a thread; it has no name if it or the process has ended. */
static int
collect_add_thread(const struct collecting *c, uint32_t tid, uint32_t *ret, struct err *e)
{
	char comm[OS_COMM_BYTES] = "";

	*ret = 0;
	if (!tid)
		return 0;
	if (c->target)
		os_thread_comm(c->target, (pid_t)tid, comm);
	return profile_thread(c->p, tid, comm, ret, e);
}

int
profile_add_no_room(struct profile *p, bool is_cut, uint32_t *ret, struct err *e)
{
	return profile_add_frame(p, 0, true, 0, ret, e) < 0
		? -1
		: profile_add_line(p, *ret,
			  is_cut ? "[unknown stack]" : "[no room for more stacks]", "", 0, e);
}

int
profile_add_site_frame(struct profile *p, const struct sites_copy *c, uint64_t address,
	uint32_t *ret, struct err *e)
{
	struct sites_code code;

	if (profile_frame(p, address, false, ret, e) < 0)
		return -1;
	if (wire_label_of(address) != WIRE_LABEL_CODE || p->frames.v[*ret].nr_lines ||
		!sites_code(c, address, &code))
		return 0;
	return profile_add_line(p, *ret, code.function, code.file, code.line, e);
}

static int
collect_add_stack(
	const struct collecting *c, const struct sites_stack *s, uint32_t *ret, struct err *e)
{
	uint32_t frame[WIRE_MAX_PATH];

	if (!s->nr && profile_add_no_room(c->p, s->is_cut, frame, e) < 0)
		return -1;
	for (uint32_t i = 0; i < s->nr; i++)
		if (profile_add_site_frame(c->p, c->sites, s->frame[i], &frame[i], e) < 0)
			return -1;
	return profile_stack(c->p, frame, s->nr ? s->nr : 1, ret, e);
}

static void
collect_set_all(int64_t *values, const struct wire_sites *head, const struct wire_site *site,
	bool is_mapped)
{
	if (is_mapped) {
		collect_set(values, MAPPED_OBJECTS, wire_site_live(site));
		collect_set(values, MAPPED_ALLOCATED_OBJECTS, site->allocated);
		return;
	}
	collect_set(values, ALLOCATED_OBJECTS, site->allocated);
	collect_set(values, IN_USE_OBJECTS, wire_site_live(site));
	collect_set(values, PEAK_OBJECTS, wire_site_peak(head, site));
	collect_set(values, TEMPORARY_OBJECTS, site->temporary);
}

static int
collect_add_site(const struct collecting *c, uint32_t i, struct err *e)
{
	const struct wire_site *site = &c->sites->site[i];
	struct profile_sample sample = { .stack = 0 };
	struct sites_stack stack;
	int64_t values[NR_TYPES] = { 0 };

	if (!site->allocated.units || !sites_stack(c->sites, i, &stack))
		return 0;
	collect_set_all(values, &c->sites->head, site, stack.is_mapped);
	sample.size_bytes = stack.size_bytes;
	if (collect_add_stack(c, &stack, &sample.stack, e) < 0 ||
		collect_add_thread(c, stack.tid, &sample.thread_1, e) < 0)
		return -1;
	if (c->stack_of)
		c->stack_of[i] = sample.stack;
	return profile_add_sample(c->p, sample, values, e);
}

/* ---- mappings ---- */

/* Return whether P has the mapping R from an earlier read of the process. */
static bool
has_mapping(const struct profile *p, const struct region *r)
{
	for (size_t i = 0; i < p->mappings.nr; i++) {
		const struct profile_mapping *m = &p->mappings.v[i];

		if (m->start == r->start.v && m->end == r->end.v &&
			m->offset_bytes == r->offset_bytes && strcmp(m->path, r->path) == 0)
			return true;
	}
	return false;
}

int
profile_add_mappings(struct profile *p, const struct process *process, struct err *e)
{
	for (size_t i = 0; i < process->maps.nr; i++) {
		const struct region *r = &process->maps.region[i];
		const struct object *o = objects_at(&process->objects, r->start);
		char id[128] = "";

		if (r->prot[2] != 'x' || !r->path || has_mapping(p, r))
			continue;
		if (o)
			image_build_id(o->image, id, sizeof id);
		if (profile_add_mapping(p, r->start.v, r->end.v, r->offset_bytes, r->path, id, e) <
			0)
			return -1;
	}
	return 0;
}

/*
 * Find the build-id of the file that was mapped at R; "" if it is another file by now, or R has no
 * inode, like an object that was only seen.
 */
static void
find_build_id(const struct region *r, char *ret, size_t size)
{
	auto_image struct image *image = NULL;
	int fd = r->inode ? os_open_at(AT_FDCWD, r->path, OS_REGULAR) : -1;
	struct err ignored;
	struct stat st;

	*ret = '\0';
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || st.st_ino != r->inode)
		close(fd);
	else if (image_open_fd(&image, fd, &ignored) == 0)
		image_build_id(image, ret, size);
}

/* Find the build-id of the object at R: from PROCESS if it has R now; NULL if it has ended. */
static void
collect_find_id(const struct process *process, const struct region *r, char *ret, size_t size)
{
	const struct region *now = process ? regions_find(&process->maps, r->start) : NULL;
	const struct object *o;

	if (!now || !now->path || strcmp(now->path, r->path) != 0 || now->start.v != r->start.v) {
		find_build_id(r, ret, size);
		return;
	}
	*ret = '\0';
	o = objects_at(&process->objects, r->start);
	if (o)
		image_build_id(o->image, ret, size);
}

/* Set the build-id of the mapping before LINE, if LINE contains it. */
static int
collect_add_id(struct profile *p, const char *line, struct err *e)
{
	struct profile_mapping *m = p->mappings.nr ? &p->mappings.v[p->mappings.nr - 1] : NULL;
	char id[WIRE_MAX_ID_BYTES];

	if (!m || !wire_maps_id(line, m->start, id))
		return 0;
	m->build_id = profile_string(p, id, strlen(id));
	return m->build_id ? 0 : err_set(e, ENOMEM, "cannot make a profile");
}

static int
add_line(struct profile *p, const struct process *process, char *line, struct err *e)
{
	struct region r;
	char id[128];

	if (*line == '#')
		return collect_add_id(p, line, e);
	if (!region_parse(&r, line) || r.prot[2] != 'x' || !r.path)
		return 0;
	collect_find_id(process, &r, id, sizeof id);
	return profile_add_mapping(p, r.start.v, r.end.v, r.offset_bytes, r.path, id, e);
}

/*
 * Return the code that PROCESS has mapped, as lines of its maps.  The caller frees it; NULL if
 * memory runs out.
 */
static char *
text_of(const struct process *process)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; f && i < process->maps.nr; i++) {
		const struct region *r = &process->maps.region[i];

		if (r->prot[2] == 'x' && r->path)
			fprintf(f,
				"%" PRIx64 "-%" PRIx64 " %s %08" PRIx64 " 00:00 %" PRIu64 " %s\n",
				r->start.v, r->end.v, r->prot, r->offset_bytes, r->inode, r->path);
	}
	if (f && fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

int
profile_map(struct profile *p, const struct sites_copy *sites, const struct process *process,
	struct err *e)
{
	auto_free char *now = process ? text_of(process) : strdup(sites->maps);
	struct wire_maps_texts texts = { .seen = sites->seen, .seen_bytes = sites->seen_bytes };
	auto_free char *text = NULL;
	char *rest = NULL;

	if (now) {
		texts.maps = now;
		texts.maps_bytes = strlen(now);
		text = wire_maps_text(&texts);
	}
	if (!text)
		return err_set(e, ENOMEM, "cannot make a profile");
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (add_line(p, process, line, e) < 0)
			return -1;
	return 0;
}

/* ---- what is missing ---- */

static int
add_comments(struct profile *p, const struct sites_copy *sites, struct err *e)
{
	const struct wire_sites *head = &sites->head;
	const struct {
		uint64_t nr;
		const char *text;
	} of[] = {
		{ !*sites->maps,
			"blocks that were allocated before the profile began are not part of it" },
		{ head->nr_lost, "samples were lost in signal handlers" },
		{ head->nr_forgotten, "blocks count as in use for good: no memory to know them" },
		{ head->nr_missed, "blocks that signal handlers freed count as in use" },
		{ wire_objects(head->no_room),
			"blocks were not recorded: --max-overhead was reached, or there was no "
			"memory" },
		{ wire_objects(sites_add_up(sites).no_stack),
			"blocks share one row: there was no room for their stacks" },
		{ head->nr_unseen,
			"times an object was loaded that was one too many: its functions have no "
			"names" },
		{ head->nr_mappings_lost,
			"calls of mmap and related functions, of signal handlers or without room, "
			"were not noted" },
	};
	char text[160];

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		if (!of[i].nr)
			continue;
		if (i)
			snprintf(text, sizeof text, "%" PRIu64 " %s", of[i].nr, of[i].text);
		else
			snprintf(text, sizeof text, "%s", of[i].text);
		if (profile_comment(p, text, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the profile ---- */

int
profile_collect(struct profile **ret, const struct sites_copy *sites, const struct process *process,
	struct err *e)
{
	return profile_collect_stacks(ret, sites, process, NULL, e);
}

int
profile_collect_stacks(struct profile **ret, const struct sites_copy *sites,
	const struct process *process, uint32_t *stack_of, struct err *e)
{
	auto_profile struct profile *p = profile_new();
	const struct collecting c = { p, sites, process ? process->target : NULL, stack_of };

	if (!p)
		return err_set(e, ENOMEM, "cannot make a profile");
	if (profile_add_usual_types(p, e) < 0 ||
		profile_add_type(p, "peak_objects", "count", e) < 0 ||
		profile_add_type(p, "peak_space", "bytes", e) < 0 ||
		profile_add_type(p, "temporary_objects", "count", e) < 0 ||
		profile_add_type(p, "temporary_space", "bytes", e) < 0 ||
		profile_add_type(p, "mapped_objects", "count", e) < 0 ||
		profile_add_type(p, "mapped_space", "bytes", e) < 0 ||
		profile_add_type(p, "mapped_alloc_objects", "count", e) < 0 ||
		profile_add_type(p, "mapped_alloc_space", "bytes", e) < 0)
		return -1;
	for (uint32_t i = 1; i < sites->nr_sites; i++)
		if (collect_add_site(&c, i, e) < 0)
			return -1;
	if (profile_map(p, sites, process, e) < 0 || add_comments(p, sites, e) < 0)
		return -1;
	p->period_bytes = (int64_t)sites->head.period_bytes;
	p->pid = process ? process->target->pid : (pid_t)sites->head.pid;
	p->time_ns = sites->head.started_ns;
	profile_find_mappings(p);
	*ret = take_ptr(&p);
	return 0;
}
