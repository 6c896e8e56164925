#include <config.h>

#include "cmd/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentctl/program.h"
#include "base/text.h"
#include "capture/wait.h"
#include "os/child.h"
#include "os/target.h"

static int
keep_environment(struct workload *s, struct err *e)
{
	size_t nr = 0;

	while (environ && environ[nr])
		nr++;
	s->environment = calloc(nr + 1, sizeof *s->environment);
	if (!s->environment)
		return err_set(e, ENOMEM, "cannot copy the environment");
	for (size_t i = 0; i < nr; i++)
		s->environment[i] = environ[i];
	return 0;
}

int
workload_take(struct workload *s, int *argc, char **argv, struct err *e)
{
	for (int i = 1; i < *argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			s->argv = argv + i + 1;
			*argc = i;
			break;
		}
	if (!s->argv)
		return 0;
	if (!*s->argv)
		return err_set(e, 0, "which program? say it after --");
	argv[*argc] = NULL;
	return keep_environment(s, e);
}

/* Become the program of ARG, a struct workload.  Returns only on failure. */
static int
workload_become(void *arg, struct err *e)
{
	const struct workload *s = arg;
	char shown[300];

	execvpe(s->path, s->argv, s->environment);
	return err_set_kind(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE, errno,
		"cannot run %s", text_printable(s->path, shown, sizeof shown));
}

int
workload_prepare(struct workload *s, struct err *e)
{
	return program_find(*s->argv, s->path, sizeof s->path, e) < 0 ||
			os_child_prepare(&s->child, workload_become, s, e) < 0
		? -1
		: 0;
}

static bool
runs(void *arg)
{
	const struct workload *s = arg;

	return s->is_running && !os_child_tend(s->child);
}

int
workload_go(struct workload *s, struct target *t, struct err *e)
{
	const char *slash = strrchr(s->path, '/');
	struct target fresh = TARGET_NONE;
	struct err ignored;
	char name[16]; /* TASK_COMM_LEN */

	if (os_child_start(s->child, e) < 0)
		return -1;
	s->is_running = true;
	capture_leave_signals(runs, s);
	/* If it has already ended, T still holds it as the process that it was. */
	if (target_open(&fresh, t->pid, &ignored) == 0) {
		target_release(t);
		*t = fresh;
	}
	/* The name that the kernel gives the process when it executes PATH. */
	snprintf(name, sizeof name, "%.15s", slash ? slash + 1 : s->path);
	text_printable(name, t->comm, sizeof t->comm);
	return 0;
}

int
workload_end(struct workload *s)
{
	struct os_end end;

	os_child_wait(s->child, &end);
	s->is_running = false;
	os_child_free(s->child);
	s->child = NULL;
	return os_end_as(end.status);
}

void
workload_release(struct workload *s)
{
	struct os_end ignored;

	if (s->is_running)
		os_child_wait(s->child, &ignored);
	capture_leave_signals(NULL, NULL);
	os_child_free(s->child);
	free(s->environment);
}
