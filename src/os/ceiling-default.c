#include <config.h>

#include "os/ceiling-default.h"

#include <unistd.h>

#include "os/cgroup.h"
#include "os/machine.h"
#include "os/os.h"
#include "os/target.h"

/* Enough for any small file, if hardly any memory is available. */
#define LEAST_BYTES (UINT64_C(64) << 20)

/* Return how much memory the cgroup of memdiag leaves it. */
static uint64_t
own_room(void)
{
	auto_target struct target self = TARGET_NONE;
	struct os_memory_room room = { .bytes = UINT64_MAX };
	struct err e;

	if (target_open(&self, getpid(), &e) == 0)
		os_memory_room(&self, &room);
	return room.bytes;
}

uint64_t
os_default_ceiling(void)
{
	const uint64_t machine = os_memory_available(), group = own_room();
	const uint64_t half = (machine < group ? machine : group) / 2;

	return half > LEAST_BYTES ? half : LEAST_BYTES;
}
