/* settings: see settings.h; then parked. */
#include "tracee.h"

#include "settings.h"

int
main(void)
{
	settings_use();
	tracee_ready();
	return tracee_park();
}
