/* load: load our library into a target. */
#ifndef MEMDIAG_INJECT_LOAD_H
#define MEMDIAG_INJECT_LOAD_H

#include <stdbool.h>

#include "base/raddr.h"

struct loaded_library {
	raddr start;	/* of its first segment */
	bool was_there; /* it was loaded before */
};

#endif
