#include <config.h>

#include "agentctl/run-sites.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/descriptors.h"

/* 121 MiB each, of which only the used part takes memory. */
static const struct wire_sites_size size = { UINT32_C(1) << 20, UINT32_C(1) << 18,
	RUN_SITES_LOG_BLOCKS };

static struct wire_profiles
run_sites_head(void)
{
	return (struct wire_profiles){
		.magic = WIRE_PROFILES_MAGIC,
		.slot_bytes = wire_sites_make(NULL, &size),
		.size = size,
		.max_slots = WIRE_MAX_PROFILES,
	};
}

uint64_t
run_sites_offset(uint32_t i)
{
	const struct wire_profiles p = run_sites_head();

	return wire_profile_offset(&p, i);
}

int
run_sites_make(int *ret_fd, struct err *e)
{
	const off_t bytes = (off_t)run_sites_offset(WIRE_MAX_PROFILES);
	const struct wire_profiles p = run_sites_head();
	struct rlimit most;
	auto_fd int fd = -1;

	/* Making a larger file would raise a signal. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < (rlim_t)bytes)
		return err_set(e, EFBIG,
			"cannot make a file in memory for the profile: ulimit -f is too low");
	fd = memfd_create(WIRE_PROFILES_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || pwrite(fd, &p, sizeof p, 0) != (ssize_t)sizeof p)
		return err_set(e, errno, "cannot make a file in memory for the profile");
	if (os_fix_size(fd, (uint64_t)bytes, e) < 0)
		return -1;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

uint32_t
run_sites_nr(int fd, uint32_t *ret_lost)
{
	struct wire_profiles p;

	*ret_lost = 0;
	if (pread(fd, &p, sizeof p, 0) != (ssize_t)sizeof p)
		return 0;
	if (p.nr_taken <= WIRE_MAX_PROFILES)
		return p.nr_taken;
	*ret_lost = p.nr_taken - WIRE_MAX_PROFILES;
	return WIRE_MAX_PROFILES;
}

struct wire_sites *
run_sites_map(int fd, uint32_t i)
{
	return run_sites_map_at(fd, run_sites_offset(i));
}

struct wire_sites *
run_sites_map_at(int fd, uint64_t offset)
{
	struct wire_sites *s = mmap(NULL, WIRE_SITES_HEADER_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, (off_t)offset);

	if (s == MAP_FAILED)
		return NULL;
	if (wire_sites_is_valid(s, UINT64_MAX))
		return s;
	run_sites_unmap(s);
	return NULL;
}

void
run_sites_unmap(struct wire_sites *s)
{
	munmap(s, WIRE_SITES_HEADER_BYTES);
}
