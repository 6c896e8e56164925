#include <config.h>

#include "agentctl/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agentctl/family.h"
#include "agentctl/program.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/child.h"
#include "os/descriptors.h"
#include "os/installed.h"
#include "wire/totals.h"

/* ---- before the start ---- */

/* Return whether ENTRY of the environment sets NAME. */
static bool
sets(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

int
launch_keep_environment(struct launch *l, struct err *e)
{
	size_t nr = 0;

	while (environ && environ[nr])
		nr++;
	l->environment = calloc(nr + 3, sizeof *l->environment);
	if (!l->environment)
		return err_set(e, ENOMEM, "cannot copy the environment");
	for (size_t i = 0; i < nr; i++)
		if (!sets(environ[i], "LD_PRELOAD") && !sets(environ[i], WIRE_ENVIRONMENT))
			l->environment[l->nr_environment++] = environ[i];
	return 0;
}

bool
launch_has_variable(const struct launch *l, const char *name)
{
	for (size_t i = 0; i < l->nr_environment; i++)
		if (sets(l->environment[i], name))
			return true;
	return false;
}

static int
find_agent(struct launch *l, struct err *e)
{
	char shown[300];

	if (os_find_installed(l->agent, sizeof l->agent, OS_AGENT_FILE, e) < 0)
		return -1;
	/* ld.so splits at the first two, and expands names after the third (ld.so(8)). */
	if (strpbrk(l->agent, " :$"))
		return err_set(e, 0,
			"LD_PRELOAD cannot name %s: install memdiag where no directory has a blank, colon or dollar sign in its name",
			text_printable(l->agent, shown, sizeof shown));
	return 0;
}

int
launch_find(struct launch *l, struct err *e)
{
	return find_agent(l, e) < 0 || program_find(l->argv[0], l->path, sizeof l->path, e) < 0
		? -1
		: program_check(l->path, l->agent, e);
}

/* ---- the counters ---- */

int
launch_make_segment(struct launch *l, struct err *e)
{
	void *mapped = MAP_FAILED;
	struct rlimit most;

	/* Making a larger file would raise a signal. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < WIRE_WHOLE_BYTES)
		return err_set(e, EFBIG,
			"cannot make a file in memory for the counters: ulimit -f is too low");
	l->segment_fd = memfd_create(WIRE_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (l->segment_fd >= 0) {
		/* The started program can open it too, and could make it smaller. */
		if (os_fix_size(l->segment_fd, WIRE_WHOLE_BYTES, e) < 0)
			return -1;
		mapped = mmap(NULL, WIRE_WHOLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			l->segment_fd, 0);
	}
	if (mapped == MAP_FAILED)
		return err_set(e, errno, "cannot make a file in memory for the counters");
	l->segment = mapped;
	l->segment->magic = WIRE_MAGIC; /* by which the agent recognises its segment */
	os_fd_path(l->segment_fd, l->segment_path, sizeof l->segment_path);
	return 0;
}

int
launch_make_family(struct launch *l, int64_t limit_bytes, struct err *e)
{
	if (family_make(&l->family_fd, limit_bytes, e) < 0)
		return -1;
	os_fd_path(l->family_fd, l->family_path, sizeof l->family_path);
	return 0;
}

bool
launch_read(const struct launch *l, pid_t pid, struct wire_segment *copy)
{
	if (l->family_fd >= 0 && family_segment(l->family_fd, pid, copy))
		return true;
	memcpy(copy, l->segment, WIRE_HEADER_BYTES);
	if (!wire_is_valid(copy, WIRE_WHOLE_BYTES))
		return false;
	/* Read only the used part: reading the rest would allocate missing pages of the file. */
	memcpy(wire_threads(copy), wire_threads(l->segment),
		copy->nr_threads * sizeof(struct wire_thread));
	return true;
}

/* ---- starting ---- */

/* Return SETTINGS as an environment variable, which the caller frees; NULL if memory runs out. */
static char *
make_settings(const struct launch *l, const struct wire_settings *settings)
{
	struct wire_settings all = *settings;
	char words[512], *text;

	all.pid = (uint64_t)getpid();
	all.segment = l->segment ? l->segment_path : NULL;
	all.family = l->family_fd >= 0 ? l->family_path : NULL;
	if (!wire_settings_write(&all, words, sizeof words) ||
		asprintf(&text, WIRE_ENVIRONMENT "=%s", words) < 0)
		return NULL;
	return text;
}

/* Put the agent before the present value: the first malloc is used. */
static char *
make_preload(const struct launch *l)
{
	const char *there = getenv("LD_PRELOAD");
	char *text;

	if (asprintf(&text, "LD_PRELOAD=%s%s%s", l->agent, there && *there ? ":" : "",
		    there ? there : "") < 0)
		return NULL;
	return text;
}

int
launch_become(const struct launch *l, const struct wire_settings *settings, struct err *e)
{
	auto_free char *words = make_settings(l, settings), *preload = make_preload(l);
	char shown[300];

	if (!words || !preload)
		return err_set(e, ENOMEM, "cannot make the environment");
	l->environment[l->nr_environment] = words;
	l->environment[l->nr_environment + 1] = preload;
	execvpe(l->path, l->argv, l->environment);
	return err_set_kind(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE, errno,
		"cannot run %s", text_printable(l->path, shown, sizeof shown));
}

void
launch_release(struct launch *l)
{
	free(l->environment);
	cleanup_fd(&l->segment_fd);
	cleanup_fd(&l->family_fd);
	if (l->segment)
		munmap(l->segment, WIRE_WHOLE_BYTES);
}
