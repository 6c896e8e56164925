#include <config.h>

#include "export/facts.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cgroup.h"
#include "os/proc.h"

/* Digits of a container's ID, and how many of them people use. */
#define ID_DIGITS 64
#define ID_SHOWN 12
/* Characters of a UUID with its four hyphens. */
#define UUID_LENGTH 36

static bool
ends_with(const char *s, size_t n, const char *end)
{
	const size_t n_end = strlen(end);

	return n > n_end && memcmp(s + n - n_end, end, n_end) == 0;
}

static void
facts_copy(char buf[EXPORT_WORD_BYTES], const char *s, size_t n)
{
	snprintf(buf, EXPORT_WORD_BYTES, "%.*s", (int)(n < EXPORT_WORD_BYTES ? n : 0), s);
}

/*
 * "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope", "libpod-ID.scope" of systemd's
 * driver, and "ID" of cgroupfs'.
 */
static void
take_container(struct export_facts *f, const char *s, size_t n)
{
	const size_t n_scope = strlen(".scope");
	size_t digits;

	if (ends_with(s, n, ".scope"))
		n -= n_scope;
	if (n < ID_DIGITS)
		return;
	s += n - ID_DIGITS;
	digits = strspn(s, "0123456789abcdef");
	if (digits >= ID_DIGITS)
		facts_copy(f->container, s, ID_SHOWN);
}

/* "kubepods-burstable-podUID.slice" with underscores in UID, and "podUID" of cgroupfs. */
static void
take_pod(struct export_facts *f, const char *s, size_t n)
{
	const size_t n_slice = strlen(".slice"), n_pod = strlen("pod");
	char uid[UUID_LENGTH + 1];

	if (ends_with(s, n, ".slice"))
		n -= n_slice;
	if (n < n_pod + UUID_LENGTH || memcmp(s + n - UUID_LENGTH - n_pod, "pod", n_pod) != 0)
		return;
	snprintf(uid, sizeof uid, "%.*s", UUID_LENGTH, s + n - UUID_LENGTH);
	for (char *c = uid; *c; c++)
		if (*c == '_')
			*c = '-';
	if (strspn(uid, "0123456789abcdef-") == UUID_LENGTH)
		facts_copy(f->pod, uid, UUID_LENGTH);
}

void
export_facts_of_cgroup(struct export_facts *f)
{
	f->unit[0] = f->container[0] = f->pod[0] = '\0';
	for (const char *s = f->cgroup; s && *s;) {
		const size_t n = strcspn(s, "/");

		if (ends_with(s, n, ".service") || ends_with(s, n, ".scope"))
			facts_copy(f->unit, s, n);
		take_container(f, s, n);
		take_pod(f, s, n);
		s += n + (s[n] == '/');
	}
}

void
export_facts_read(struct export_facts *f, const struct target *t)
{
	char path[PATH_MAX];
	struct err e;

	if (os_proc_link(t, "exe", path, sizeof path, &e) == 0)
		f->exe = strdup(path);
	if (os_cgroup_path(t, path, sizeof path))
		f->cgroup = strdup(path);
	export_facts_of_cgroup(f);
}

void
export_facts_release(struct export_facts *f)
{
	free(f->exe);
	free(f->cgroup);
	*f = (struct export_facts){ 0 };
}
