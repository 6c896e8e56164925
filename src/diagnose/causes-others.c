#include <config.h>

#include "diagnose/causes-others.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "diagnose/causes-others-priv.h"
#include "diagnose/environment.h"
#include "diagnose/verdict-words.h"

bool
verdict_is_cgroup_full(const struct verdict_facts *f)
{
	return f->cgroup_limit_bytes &&
		verdict_weighs(f->cgroup_used_bytes, 16 * MIB, 0.9, f->cgroup_limit_bytes);
}

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Return a text such as "descriptor 3 of 4711 (python3), memfd:frames, 300.0 MiB". */
static const char *
held_text(const struct verdict_held *h, char *buf, size_t size)
{
	char name[2 * sizeof h->name], comm[2 * sizeof h->comm], bytes[40];

	snprintf(buf, size, "descriptor %d of %d (%s), %s, %s", h->fd, (int)h->pid,
		text_printable(h->comm, comm, sizeof comm),
		text_printable(h->name, name, sizeof name),
		text_bytes(h->bytes, bytes, sizeof bytes));
	return buf;
}
#define HELD(h) held_text((h), (char[200]){ 0 }, 200)

/* Return the parts of the cgroup's memory, as ": 96.0 MiB of this process, ..."; "" if unknown. */
static const char *
cgroup_sum(const struct verdict_facts *f, char *buf, size_t size)
{
	const uint64_t own = f->rss_anon_bytes + f->rss_shmem_bytes;
	const uint64_t files = less(f->cgroup_shmem_bytes, f->rss_shmem_bytes);
	const uint64_t rest = less(f->cgroup_used_bytes, own + files + f->cgroup_kernel_bytes);
	char most[240] = "";

	if (f->cgroup_held.bytes)
		snprintf(most, sizeof most, " (most: %s)", HELD(&f->cgroup_held));
	snprintf(buf, size,
		": %s of this process, %s of files in memory that it has not mapped%s, %s of the kernel, %s of others",
		BYTES(own), BYTES(files), files ? most : "", BYTES(f->cgroup_kernel_bytes),
		BYTES(rest));
	return f->has_cgroup_parts ? buf : "";
}
#define CGROUP_SUM(f) cgroup_sum((f), (char[500]){ 0 }, 500)

bool
judge_limit_near(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_is_cgroup_full(f) ||
		!verdict_weighs(f->rss_bytes + f->held_bytes, 0, 0.1, f->cgroup_limit_bytes))
		return false;
	verdict_say(v, "critical", f->cgroup_used_bytes,
		"Its cgroup uses %s of the %s it may have (%d %%)%s. When nothing is left the "
		"kernel kills a process there.",
		BYTES(f->cgroup_used_bytes), BYTES(f->cgroup_limit_bytes),
		verdict_percent(f->cgroup_used_bytes, f->cgroup_limit_bytes), CGROUP_SUM(f));
	verdict_advise(v, "raise the limit (memory.max), or make the process smaller");
	return true;
}

/*
 * Judge files in memory held by descriptors: they show in neither RSS nor mappings, only in the
 * cgroup and the machine.
 */
bool
judge_held_files(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->held_bytes, 64 * MIB, 0.25, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->held_bytes,
		"%s are in files in memory (memfd, tmpfs) that it holds open and has not mapped, "
		"so RSS does not count them. Most: %s.",
		BYTES(f->held_bytes), HELD(&f->held));
	v->rank = VERDICT_ASIDE;
	verdict_advise(v, "close the descriptor, or make the file smaller with ftruncate()");
	return true;
}

/* Name the owner of anonymous memory that malloc did not map, as far as it is known. */
static const char *
whose_memory(const struct verdict_facts *f, char *buf, size_t size)
{
	const uint64_t all = f->other_anon_rss_bytes;
	const char *whose =
		"was mapped by the program itself and not by malloc: a buffer pool, or a "
		"runtime with a heap of its own.";

	if (2 * f->java_bytes >= all)
		whose = "is anonymous memory that is not malloc's, most of it the heap of Java.";
	else if (2 * f->go_bytes >= all)
		whose = "is anonymous memory that is not malloc's, most of it the heap of Go.";
	else if (2 * f->sbrk_bytes >= all)
		whose = "the program has taken itself, most of it by sbrk(): an allocator of its "
			"own.";
	if (2 * f->forbidden_bytes >= all)
		snprintf(buf, size,
			"%s Of it %s is resident and may not be accessed (PROT_NONE): madvise(MADV_DONTNEED) would free it.",
			whose, BYTES(f->forbidden_bytes));
	else
		snprintf(buf, size, "%s", whose);
	return buf;
}

static void
advise_java(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->is_core)
		verdict_advise(v,
			"jcmd %d GC.heap_info shows how much of it is in use; -Xmx bounds it",
			(int)f->pid);
}

bool
judge_other_allocator(const struct verdict_facts *f, struct verdict *v)
{
	char words[300];

	if (!verdict_weighs(f->other_anon_rss_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->other_anon_rss_bytes, "%s, %s, %s",
		BYTES(f->other_anon_rss_bytes), SHARE(f, f->other_anon_rss_bytes),
		whose_memory(f, words, sizeof words));
	verdict_advise_run(f, v, "maps --by=mapping");
	if (2 * f->java_bytes >= f->other_anon_rss_bytes)
		advise_java(f, v);
	return true;
}

/* The memory of a process that is neither malloc's nor mapped by it without a file. */

bool
judge_shared_memory(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->sysv_bytes + f->memfd_bytes + f->java_shm_bytes + f->other_shm_bytes;

	if (!verdict_weighs(bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	if (2 * f->java_shm_bytes >= bytes) {
		verdict_say(v, "info", bytes,
			"%s, %s, is shared memory, most of it (%s) the heap of Java, which ZGC "
			"keeps there and may map more than once.",
			BYTES(bytes), SHARE(f, bytes), BYTES(f->java_shm_bytes));
		verdict_advise_run(f, v, "maps --pss");
		advise_java(f, v);
		return true;
	}
	verdict_say(v, "info", bytes,
		"%s, %s, is shared memory (System V %s, memfd %s, other %s). It counts in the RSS "
		"of each process that maps it, and trimming does not reach it.",
		BYTES(bytes), SHARE(f, bytes), BYTES(f->sysv_bytes), BYTES(f->memfd_bytes),
		BYTES(f->other_shm_bytes));
	verdict_advise_run(f, v, "maps --pss");
	verdict_advise(v,
		"its size is a setting of the program; ipcs -m and /dev/shm show what is left "
		"over");
	return true;
}

bool
judge_mapped_files(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->file_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->file_bytes,
		"%s, %s, is pages of files that the program has mapped. The kernel drops them when "
		"memory is short, and reads them again.",
		BYTES(f->file_bytes), SHARE(f, f->file_bytes));
	verdict_advise_run(f, v, "maps --by=object");
	return true;
}

bool
judge_changed_files(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->changed_file_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->changed_file_bytes,
		"%s, %s, is copies of file pages: the program has changed them in private "
		"mappings of files. No file has them, so they stay until they are unmapped.",
		BYTES(f->changed_file_bytes), SHARE(f, f->changed_file_bytes));
	verdict_advise_run(f, v, "maps --by=object");
	return true;
}

bool
judge_static_data(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->static_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->static_bytes,
		"%s, %s, is static variables (.data, .bss) of the program and its libraries. "
		"Their size is fixed when it is built; malloc has no part in it.",
		BYTES(f->static_bytes), SHARE(f, f->static_bytes));
	verdict_advise_run(f, v, "maps --by=object");
	return true;
}

bool
judge_page_tables(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->page_table_bytes, 64 * MIB, 0.25, f->rss_bytes))
		return false;
	verdict_say(v, "warning", f->page_table_bytes,
		"Its page tables take %s, which RSS (%s) does not count: pages far apart are in "
		"use, or much shared memory is mapped in small pages.",
		BYTES(f->page_table_bytes), BYTES(f->rss_bytes));
	verdict_advise_run(f, v, "maps");
	verdict_advise(v,
		"use huge pages for shared buffers (huge_pages in PostgreSQL, large-pages in "
		"MySQL)");
	return true;
}

bool
judge_children(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->children_rss_bytes, 64 * MIB, 1.25, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->children_rss_bytes,
		"%s more is the RSS of %zu process%s that it has started, where this one has %s. "
		"What they share counts in each; the largest is %d.",
		BYTES(f->children_rss_bytes), f->nr_children, f->nr_children == 1 ? "" : "es",
		BYTES(f->rss_bytes), (int)f->largest_child);
	verdict_advise(v, "memdiag info -p %d", (int)f->largest_child);
	return true;
}

bool
judge_virt_only(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->reserve_bytes, GIB, 0.5, f->virt_bytes))
		return false;
	verdict_say(v, "info", f->reserve_bytes,
		"%s of the %s of VIRT is address space without memory: it is reserved and not "
		"resident.",
		BYTES(f->reserve_bytes), BYTES(f->virt_bytes));
	v->rank = VERDICT_OF_ADDRESSES;
	verdict_advise(v, "watch RSS instead, and set no limit on VIRT (ulimit -v)");
	return true;
}
