/*
 * Whatever a file of sites has in it, it is refused, or a profile without negative numbers comes
 * out.
 */
#include <config.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agentdata/collect.h"
#include "agentdata/sites.h"
#include "base/cleanup.h"
#include "os/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Without maps: naming functions is another target's. */
static const struct process *
process_of_mine(void)
{
	static struct target self = TARGET_NONE;
	static struct process process;
	struct err e;

	if (!process.target) {
		if (target_open(&self, getpid(), &e) < 0)
			abort();
		process.target = &self;
	}
	return &process;
}

static void
use(const struct sites_copy *c)
{
	auto_profile struct profile *p = NULL;
	struct err e;

	if (profile_collect(&p, c, process_of_mine(), &e) < 0)
		abort();
	for (size_t i = 0; i < p->values.nr; i++)
		if (p->values.v[i] < 0)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_fd int fd = memfd_create("sites", MFD_CLOEXEC);
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	struct err e;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (sites_read_file(&c, fd, &e) == 0)
		use(&c);
	return 0;
}
