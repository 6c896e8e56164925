/*
 * Find the debug files of an object.  libdw would open such a file by its name, whatever it leads
 * to (libdwfl/find-debuginfo.c); so it is used only for debuginfod.
 */
#include <config.h>

#include "profile/debug-files.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "os/stranger.h"
#include "profile/debug-plain.h"

/* Linkers make build-ids of 8 to 20 bytes. */
#define MAX_ID_BYTES 64
#define INSTALLED "/usr/lib/debug/.build-id/"

/* The right file has this build-id or, if the object has no build-id, this checksum. */
struct wanted {
	const unsigned char *id;
	int id_bytes; /* 0 without a build-id */
	uint32_t crc;
};

static bool
has_checksum(int fd, uint32_t wanted)
{
	unsigned char buf[65536];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof buf, at)) > 0) {
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	return n == 0 && crc == wanted;
}

static bool
has_build_id(int fd, const struct wanted *w)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *id;
	const ssize_t bytes = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	const bool is_same = bytes == w->id_bytes && memcmp(id, w->id, (size_t)bytes) == 0;

	elf_end(elf);
	return is_same;
}

/* Open the file DIR/NAME, below ROOT, if it is the right one; else return -1. */
static int
open_if_wanted(const char *root, const char *dir, int len, const char *name, const struct wanted *w)
{
	auto_free char *path = NULL;
	int fd;

	if (asprintf(&path, "%s%.*s%s", root, len, dir, name) < 0) {
		path = NULL;
		return -1;
	}
	fd = os_open_at(AT_FDCWD, path, OS_REGULAR);
	if (fd < 0 || (w->id_bytes ? has_build_id(fd, w) : has_checksum(fd, w->crc)))
		return fd;
	close(fd);
	return -1;
}

/* Search NAME where gdb does: next to the object FILE, in .debug there, in /usr/lib/debug. */
static int
find_beside(const char *file, const char *name, const struct wanted *w)
{
	const char *slash = strrchr(file, '/');
	const int len = slash ? (int)(slash + 1 - file) : 0;
	auto_free char *hidden = NULL;
	int fd;

	if (asprintf(&hidden, ".debug/%s", name) < 0) {
		hidden = NULL;
		return -1;
	}
	fd = open_if_wanted("", file, len, name, w);
	if (fd < 0)
		fd = open_if_wanted("", file, len, hidden, w);
	return fd < 0 && *file == '/' ? open_if_wanted("/usr/lib/debug", file, len, name, w) : fd;
}

/*
 * Find the file that is installed by its build-id.  dwfl_build_id_find_debuginfo() would give the
 * file to libdwfl before it could be replaced (libdwfl/dwfl_build_id_find_debuginfo.c, 0.188).
 */
static int
find_installed(const struct wanted *w, char **ret_name)
{
	char path[sizeof INSTALLED + 2 * MAX_ID_BYTES + sizeof "/.debug"], *at = path;
	int fd;

	if (w->id_bytes < 2 || w->id_bytes > MAX_ID_BYTES)
		return -1;
	at += sprintf(at, INSTALLED "%02x/", w->id[0]);
	for (int i = 1; i < w->id_bytes; i++)
		at += sprintf(at, "%02x", w->id[i]);
	strcpy(at, ".debug");
	fd = open_if_wanted("", "", 0, path, w);
	/* libdw searches files that this one names next to it. */
	if (fd >= 0)
		*ret_name = realpath(path, NULL);
	return fd;
}

/* As find_beside(), and also at the target of FILE if it is a link. */
static int
find_named(const char *file, const char *name, const struct wanted *w)
{
	auto_free char *real = NULL;
	int fd = find_beside(file, name, w);

	if (fd < 0 && (real = realpath(file, NULL)) && strcmp(real, file) != 0)
		fd = find_beside(real, name, w);
	return fd;
}

/*
 * Return whether libdw may ask a server of debug files.  Without one it would load libdebuginfod
 * and its 20 libraries for nothing, which takes longer than to name all functions of a stack
 * (libdwfl/debuginfod-client.c, 0.188).
 */
static bool
has_server(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

int
debug_file_find(Dwfl_Module *mod, void **userdata, const char *module, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	const bool lacked_memory = errno == ENOMEM;
	struct wanted w = { .crc = crc };
	GElf_Addr at;
	int fd;

	w.id_bytes = dwfl_module_build_id(mod, &w.id, &at);
	if (w.id_bytes < 0)
		w.id_bytes = 0;
	fd = find_installed(&w, ret_name);
	if (fd < 0 && file && link && !strchr(link, '/'))
		fd = find_named(file, link, &w);
	fd = fd < 0 ? -1 : os_keep_contents(fd);
	/* Without names, libdw asks only debuginfod. */
	if (fd < 0 && errno != ENOMEM && has_server())
		fd = dwfl_standard_find_debuginfo(
			mod, userdata, module, base, NULL, NULL, 0, ret_name);
	/* If libdw cannot unpack the debug information, it searches elsewhere, too. */
	if (lacked_memory)
		errno = ENOMEM;
	return fd;
}

int
debug_file_find_plain(Dwfl_Module *mod, void **userdata, const char *module, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	const int fd = debug_file_find(mod, userdata, module, base, file, link, crc, ret_name);

	return fd < 0 ? fd : debug_plain(fd);
}
