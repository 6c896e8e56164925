/*
 * hook-slots: the pointers by which functions are called, and which hooks replace.
 */
#ifndef MEMDIAG_INJECT_HOOK_SLOTS_H
#define MEMDIAG_INJECT_HOOK_SLOTS_H

#include "base/err.h"
#include "elf/objects.h"
#include "inject/hook.h"
#include "inject/patch.h"
#include "inject/target.h"

/*
 * Add to AREA's next slots the words of all of the target's objects O that contain, or will
 * contain, the address of HOOK's function, except those of the object that has the hook.  0, or -1
 * with E.
 */
int hook_slots_find(struct patch_area *area, const struct inject_target *callee,
	const struct objects *o, const struct hook *hook, struct err *e);

#endif
