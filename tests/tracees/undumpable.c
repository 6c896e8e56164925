/* undumpable: a program that nobody but a capable user may look at, as after a setuid exec. */
#include "tracee.h"

int
main(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		tracee_fail("prctl");
	tracee_ready();
	return tracee_park();
}
