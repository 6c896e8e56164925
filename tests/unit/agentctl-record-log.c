/*
 * The state of a log, and how it is opened and closed, in a file and in a process, beside an agent
 * that appends to it.
 */
#include <config.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#include "agentctl/record-log.h"
#include "os/os.h"
#include "wire/log.h"

#define NR_BLOCKS 1000

static struct wire_sites *sites;
static int fd;

static void
make(uint32_t nr_blocks)
{
	const struct wire_sites_size size = { 1000, 100, nr_blocks };
	const uint64_t bytes = wire_sites_make(NULL, &size);

	fd = memfd_create("sites", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 4096 + (off_t)bytes) < 0)
		exit(99);
	sites = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	if (sites == MAP_FAILED)
		exit(99);
	wire_sites_make(sites, &size);
}

static void
drop(void)
{
	munmap(sites, sites->size_bytes);
	close(fd);
}

static blkcnt_t
taken(void)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_blocks : -1;
}

/* The sites in TARGET, this process; NULL: in the file. */
static struct record_log_place
place_of(const struct target *target)
{
	return (struct record_log_place){
		.target = target, .at = { (uintptr_t)sites }, .fd = fd, .offset_bytes = 4096
	};
}

static void
test_place(const struct target *target, const char *where)
{
	struct wire_log *l;
	struct record_log_place place;
	struct record_log log, again;
	struct err e;
	blkcnt_t before;

	make(NR_BLOCKS);
	place = place_of(target);
	l = wire_log_of(sites);
	wire_log_block(l, 0)->owner = wire_log_block(l, 2)->owner = 1;
	wire_log_block(l, 1)->owner = 0;
	l->nr_touched = 3;
	l->nr_dropped = 5;
	l->dropped_bytes = 500;
	before = taken();
	ok(record_log_read(&log, &place, &e) == 0, "%s: it is read", where);
	ok(taken() == before, "%s: which takes no memory", where);
	ok(log.log_at == sites->log_at && log.nr_blocks == NR_BLOCKS, "%s: where it is", where);
	ok(!log.is_open && !log.opened_ns, "%s: not open", where);
	ok(log.nr_used == 2, "%s: the blocks that are used", where);
	ok(log.nr_dropped == 5 && log.dropped_bytes == 500, "%s: what is dropped", where);
	ok(record_log_set_open(&log, true, &e) == 0 && l->is_open == 1 && l->nr_openings == 1 &&
			l->opened_ns,
		"%s: opened", where);
	ok(record_log_set_open(&log, true, &e) == 0 && l->is_open == 1,
		"%s: again, nothing changes", where);
	ok(record_log_read(&again, &place, &e) == 0 && again.is_open &&
			again.opened_ns == l->opened_ns,
		"%s: it is open", where);
	ok(record_log_set_open(&log, false, &e) == 0 && !l->is_open, "%s: closed", where);
	ok(record_log_set_open(&log, true, &e) == 0 && l->is_open == 2, "%s: opened once more",
		where);
	l->nr_touched = NR_BLOCKS + 1;
	ok(record_log_read(&log, &place, &e) < 0 && e.kind == ERR_UNSUPPORTED,
		"%s: damaged, it is refused", where);
	drop();
	make(0);
	place = place_of(target);
	ok(record_log_read(&log, &place, &e) == 0 && !log.log_at, "%s: no log", where);
	ok(record_log_set_open(&log, true, &e) < 0 && e.kind == ERR_UNSUPPORTED,
		"%s: and it is not opened", where);
	sites->magic = 0;
	ok(record_log_read(&log, &place, &e) < 0 && e.kind == ERR_UNSUPPORTED,
		"%s: other sites are refused", where);
	drop();
}

int
main(void)
{
	struct target self = TARGET_NONE;
	struct err e;

	if (target_open(&self, getpid(), &e) < 0)
		return 99;
	test_place(NULL, "file");
	test_place(&self, "process");
	target_release(&self);
	return tap_end();
}
