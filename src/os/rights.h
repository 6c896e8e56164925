/*
 * rights: what memdiag may do with a target, and the reasons of refusals.
 */
#ifndef MEMDIAG_OS_RIGHTS_H
#define MEMDIAG_OS_RIGHTS_H

/* The messages for that, in all commands: the first takes us.hidepid. */
#define OS_HIDES "/proc hides the processes of other users (%s)"
#define OS_HIDES_HELP "Run memdiag as root, or: mount -o remount,hidepid=0 /proc"

#endif
