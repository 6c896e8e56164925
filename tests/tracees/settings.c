/*
 * settings [FILE...]: see settings.h; then parked.  First the FILEs are deleted, as an upgrade of
 * libc does under those who have it mapped.
 */
#include "tracee.h"

#include "settings.h"

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (unlink(argv[i]) < 0)
			tracee_fail(argv[i]);
	settings_use();
	tracee_ready();
	return tracee_park();
}
