/* Memory that is counted again because a file is mapped more than once. */
#include <config.h>

#include <stdlib.h>

#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/repeats.h"
#include "tap.h"

#define KIB UINT64_C(1024)

/* A space of mappings that a test adds one behind the other. */
struct made {
	struct space s;
	struct process process;
	struct region region[16];
	struct leaf leaf[16];
};

static struct leaf *
map(struct made *m, const char *path, uint64_t inode, uint64_t offset, uint64_t bytes, uint64_t rss)
{
	size_t i = m->s.leaves.nr++;
	struct leaf *l = &m->leaf[i];
	struct region *r = &m->region[i];

	m->process.maps.region = m->region;
	m->s.process = &m->process;
	m->s.leaves.v = m->leaf;
	r->start.v = l->start.v = (i + 1) << 32;
	r->end.v = l->end.v = r->start.v + bytes;
	r->offset_bytes = offset;
	r->dev = path != NULL;
	r->inode = inode;
	r->path = path;
	l->region = (uint32_t)i;
	l->kind = LEAF_FILE_SHARED;
	l->object = -1;
	l->rss_bytes = rss;
	return l;
}

/* That the I-th of them is of PATH, with so much. */
static void
repeat_is(const struct repeats *r, size_t i, const char *path, uint64_t virt, uint64_t rss)
{
	is_str(i < r->nr ? r->v[i].path : NULL, path, path);
	is_u64(i < r->nr ? r->v[i].virt_bytes : 0, virt, "VIRT again");
	is_u64(i < r->nr ? r->v[i].rss_bytes : 0, rss, "RSS again");
}

/* How much of one file is counted again; the space is used up. */
static void
again_is(struct made *m, uint64_t virt, uint64_t rss, const char *words)
{
	auto_repeats struct repeats r = { 0 };
	struct err e;

	ok(repeats_find(&r, &m->s, &e) == 0 && r.nr == (virt != 0), "%s", words);
	is_u64(r.nr ? r.v[0].virt_bytes : 0, virt, "VIRT again");
	is_u64(r.nr ? r.v[0].rss_bytes : 0, rss, "RSS again");
	*m = (struct made){ 0 };
}

static void
test_files(void)
{
	struct made m = { 0 };

	again_is(&m, 0, 0, "nothing");
	map(&m, "/a", 1, 0, 64 * KIB, 64 * KIB);
	map(&m, "/b", 2, 0, 64 * KIB, 64 * KIB);
	map(&m, "/a", 1, 64 * KIB, 64 * KIB, 64 * KIB);
	again_is(&m, 0, 0, "two files, one in two halves");
	map(&m, "/a", 1, 0, 64 * KIB, 64 * KIB);
	map(&m, "/a", 1, 0, 64 * KIB, 64 * KIB);
	map(&m, "/a", 1, 0, 64 * KIB, 4 * KIB);
	again_is(&m, 128 * KIB, 68 * KIB, "three times");
	map(&m, "/a", 1, 60 * KIB, 64 * KIB, 64 * KIB);
	map(&m, "/a", 1, 0, 64 * KIB, 64 * KIB);
	again_is(&m, 4 * KIB, 4 * KIB, "in part, the later part first");
	map(&m, "/a", 1, 0, 64 * KIB, 0);
	map(&m, "/a", 1, 4 * KIB, 4 * KIB, 4 * KIB);
	map(&m, "/a", 1, 60 * KIB, 8 * KIB, 8 * KIB);
	again_is(&m, 8 * KIB, 8 * KIB, "a long one that reaches over a short one into a third");
	map(&m, "/a", 1, 0, 64 * KIB, 64 * KIB);
	map(&m, "/a", 1, 0, 64 * KIB, 64 * KIB);
	m.region[1].dev = 2;
	again_is(&m, 0, 0, "the same number on another disk");
}

static void
test_kinds(void)
{
	struct made m = { 0 };

	map(&m, "/lib", 1, 0, 64 * KIB, 64 * KIB)->object = 0;
	map(&m, "/lib", 1, 60 * KIB, 8 * KIB, 8 * KIB)->object = 0;
	again_is(&m, 0, 0, "segments of a library that share a page");
	map(&m, "/lib", 1, 0, 64 * KIB, 64 * KIB)->object = 0;
	map(&m, "/lib", 1, 0, 64 * KIB, 64 * KIB)->object = 1;
	again_is(&m, 64 * KIB, 64 * KIB, "a library that is loaded twice");
	map(&m, "/dev/zero", 1, 0, 64 * KIB, 64 * KIB)->kind = LEAF_ANON_SMALL;
	map(&m, "/dev/zero", 1, 0, 64 * KIB, 64 * KIB)->kind = LEAF_ANON_SMALL;
	map(&m, "/dev/dri/card0", 2, 0, 64 * KIB, 0)->kind = LEAF_DEVICE;
	map(&m, "/dev/dri/card0", 2, 0, 64 * KIB, 0)->kind = LEAF_DEVICE;
	map(&m, NULL, 0, 0, 64 * KIB, 0)->kind = LEAF_SO_BSS;
	map(&m, NULL, 0, 0, 64 * KIB, 0)->kind = LEAF_SO_BSS;
	again_is(&m, 0, 0, "what has no pages of a file");
	map(&m, "/memfd:jit", 1, 0, 64 * KIB, 64 * KIB)->kind = LEAF_SHM_MEMFD;
	map(&m, "/memfd:jit", 1, 0, 64 * KIB, 64 * KIB)->kind = LEAF_JIT;
	m.leaf[0].is_tmpfs = m.leaf[1].is_tmpfs = true;
	again_is(&m, 64 * KIB, 64 * KIB, "code of a JIT, to be written here and run there");
}

static void
test_order(void)
{
	auto_repeats struct repeats r = { 0 };
	struct made m = { 0 };
	struct err e;

	for (int i = 0; i < 2; i++) {
		map(&m, "/virt", 1, 0, 1024 * KIB, 0);
		map(&m, "/rss", 2, 0, 64 * KIB, 64 * KIB);
		map(&m, "/more", 3, 0, 128 * KIB, 128 * KIB);
	}
	ok(repeats_find(&r, &m.s, &e) == 0, "of several files");
	is_u64(r.nr, 3, "all are reported");
	repeat_is(&r, 0, "/more", 128 * KIB, 128 * KIB);
	repeat_is(&r, 1, "/rss", 64 * KIB, 64 * KIB);
	repeat_is(&r, 2, "/virt", 1024 * KIB, 0);
}

int
main(void)
{
	test_files();
	test_kinds();
	test_order();
	return tap_end();
}
