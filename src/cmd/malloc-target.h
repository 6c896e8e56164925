/*
 * malloc-target: what the commands that ask glibc's malloc inside a process share: the options of
 * the borrowed thread, and all that has to be known before one is borrowed.
 */
#ifndef MEMDIAG_CMD_MALLOC_TARGET_H
#define MEMDIAG_CMD_MALLOC_TARGET_H

#include <argp.h>
#include <jansson.h>

#include "base/err.h"
#include "inject/inject.h"
#include "maps/maps.h"
#include "os/os.h"
#include "ui/ui.h"

struct malloc_target {
	struct target target;
	struct maps maps;
	struct objects objects;
	struct inject_target *inject;
	struct arenas arenas;
};
#define MALLOC_TARGET_NONE { .target = TARGET_NONE }

/*
 * Learn all but the arenas of process PID; nothing is stopped.  MT must be MALLOC_TARGET_NONE.
 * ERR_UNSUPPORTED when its malloc is not glibc's.  MT is to be released in any case.
 */
int malloc_target_open(struct malloc_target *mt, pid_t pid, struct err *e);

/*
 * Find the arenas: just before the call, as the proof that a thread is safe looks at their locks.
 * ERR_FAILED when they are damaged, and malloc had better not be called.
 */
int malloc_target_find_arenas(struct malloc_target *mt, struct err *e);

void malloc_target_release(struct malloc_target *mt);
#define auto_malloc_target __attribute__((cleanup(malloc_target_release)))

/* Resident bytes of arena NR of S, of all of them if NR is -1. */
uint64_t space_arena_resident(const struct space *s, int32_t nr);

/*
 * The argp children of such a command: ui_options_argp, whose input is a struct ui_options, and the
 * options --mode and --wait, whose input is a struct inject_options, zeroed.
 */
extern const struct argp_child borrow_children[];

/* Share out --timeout between the wait and the call, once all options are known. */
void borrow_limit(struct inject_options *inject, const struct ui_options *ui);

/* The thread that was borrowed and for how long, as in "thread 12 was held for 300 us". */
const char *borrow_text(const struct inject_report *r, char *buf, size_t size);
/* The same for JSON: {"mode","tid","held_us"}, or null if none was. */
json_t *borrow_json(const struct inject_report *r);

#endif
