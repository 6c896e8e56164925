#include <config.h>

#include "inject/needs.h"

#include <linux/memfd.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "inject/target.h"
#include "os/os.h"
#include "os/seccomp.h"
#include "os/status.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* since Linux 4.17 */
#endif
#ifndef SYS_clone3
#define SYS_clone3 435 /* since Linux 5.3, on all processors */
#endif
#ifndef SYS_rseq /* since Linux 4.18 */
#ifdef __x86_64__
#define SYS_rseq 334
#else
#define SYS_rseq 293
#endif
#endif

enum { MAY_FAIL, MUST_PASS };

static const struct need {
	unsigned int needs;
	const char *since;
	int must;
	struct os_call call;
} calls[] = {
#define CALL(needs, since, must, name) { NEEDS_##needs, since, must, { #name, SYS_##name, { 0 } } },
#define CALL_WITH(needs, since, must, name, ...)                                                   \
	{ NEEDS_##needs, since, must, { #name, SYS_##name, { __VA_ARGS__ } } },
#include "inject/calls.def"
#undef CALL
#undef CALL_WITH
};

#define NR_CALLS (sizeof calls / sizeof *calls)

unsigned long
needs_release(const char *version)
{
	char *end;
	const unsigned long major = strtoul(version, &end, 10);

	return *end == '.' ? 1000 * major + strtoul(end + 1, NULL, 10) : 0;
}

static bool
is_made(const struct need *n, unsigned int needs, const char *version)
{
	const unsigned long release = needs_release(version);

	return n->needs & needs && (!release || needs_release(n->since) <= release);
}

const struct os_call *
needs_refused(unsigned int needs, const char *version, const struct os_filters *f)
{
	for (size_t i = 0; i < NR_CALLS; i++) {
		const struct need *n = &calls[i];

		if (is_made(n, needs, version) &&
			(n->must == MUST_PASS ? !os_filters_allow(f, &n->call)
					      : os_filters_harm(f, &n->call) != NULL))
			return &n->call;
	}
	return NULL;
}

const char *
needs_name(unsigned int needs, const char *version, size_t i)
{
	for (size_t k = 0; k < NR_CALLS; k++)
		if (is_made(&calls[k], needs, version) && !i--)
			return calls[k].call.name;
	return NULL;
}

int
needs_prove(const struct inject_target *callee, pid_t tid, unsigned int needs, unsigned int wishes,
	const char **ret_not_wished, struct err *e)
{
	auto_filters struct os_filters filters = { 0 };
	const struct target *t = callee->target;
	const struct os_call *refused;
	struct os_status s;

	if (os_status(t, tid, &s, e) < 0)
		return -1;
	if (s.seccomp == 1)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"thread %d of %d (%s) is in the strict mode of seccomp, which ends it for any system call but read and write",
			tid, t->pid, t->comm);
	if (os_filters_add(&filters, t, tid, e) < 0) {
		e->kind = ERR_UNSUPPORTED;
		return -1;
	}
	refused = needs_refused(needs, callee->version, &filters);
	if (!refused) {
		refused = needs_refused(wishes, callee->version, &filters);
		*ret_not_wished = refused ? refused->name : NULL;
		return 0;
	}
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"a seccomp filter of thread %d of %d (%s) does not allow %s(), which would be made in it",
		tid, t->pid, t->comm, refused->name);
}
