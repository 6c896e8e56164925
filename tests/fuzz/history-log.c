/*
 * Whatever a file of a log has in it, it is refused or read.  The checks are those of any recording
 * of which every event is known; only what they start from differs.
 */
#include "report-heaptrack.c"
