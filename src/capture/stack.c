#include <config.h>

#include "capture/stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agentdata/collect.h"
#include "agentdata/live-files.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "report/calls.h"

/* Lines of a stack; outer functions are left out. */
#define MAX_LINES 40

/* Make a profile with this one stack. */
static int
make(struct profile *p, const struct sites_copy *c, uint32_t node, const struct process *process,
	struct err *e)
{
	const struct profile_sample sample = { .stack = 0 };
	struct sites_stack s;
	uint32_t frame[WIRE_MAX_PATH], stack;

	if (!sites_stack_of_node(c, node, &s) || !s.nr)
		return err_set(e, 0, "the stack is not known");
	for (uint32_t i = 0; i < s.nr; i++)
		if (profile_add_site_frame(p, c, s.frame[i], &frame[i], e) < 0)
			return -1;
	if (profile_add_type(p, "inuse_space", "bytes", e) < 0 ||
		profile_stack(p, frame, s.nr, &stack, e) < 0 ||
		profile_add_sample(p, sample, &(int64_t){ 1 }, e) < 0 ||
		profile_map(p, c, process, e) < 0)
		return -1;
	p->pid = process ? process->target->pid : (pid_t)c->head.pid;
	profile_find_mappings(p);
	return 0;
}

static void
stack_print(FILE *f, const struct calls *c, const char *indent)
{
	const struct calls_path *path = &c->paths.v[0];
	char name[1000];

	for (uint32_t i = 0; i < path->nr && i < MAX_LINES; i++) {
		const uint32_t node = c->steps.v[path->first + path->nr - 1 - i];

		fprintf(f, "%s%s\n", indent,
			text_printable(c->nodes.v[node].name, name, sizeof name));
	}
	if (path->nr > MAX_LINES)
		fprintf(f, "%s...\n", indent);
}

int
profile_stack_text(char **ret, const struct sites_copy *c, uint32_t node,
	const struct process *process, const char *indent, struct err *e)
{
	const struct symbols_options symbols = { .program = NULL };
	const struct calls_options options = { .type = 0 };
	auto_profile struct profile *p = profile_new();
	auto_calls struct calls calls = { .p = NULL };
	auto_free char *text = NULL;
	size_t size;
	FILE *f;

	if (!p)
		return err_set(e, ENOMEM, "cannot name a stack");
	if (make(p, c, node, process, e) < 0 || live_files_name(p, process, &symbols, e) < 0 ||
		calls_make(&calls, p, &options, e) < 0)
		return -1;
	f = open_memstream(&text, &size);
	if (!f)
		return err_set(e, errno, "cannot name a stack");
	if (calls.paths.nr)
		stack_print(f, &calls, indent);
	if (fclose(f) != 0)
		return err_set(e, errno, "cannot name a stack");
	*ret = take_ptr(&text);
	return 0;
}
