/*
 * Find the debug files that an object names.  libdw opens such a file by its name, whatever it
 * leads to (libdwfl/find-debuginfo.c); so it is used only for files that root has installed by
 * their build-id, and for debuginfod.
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
	int fd = dwfl_build_id_find_debuginfo(mod, userdata, module, base, NULL, NULL, 0, ret_name);

	w.id_bytes = dwfl_module_build_id(mod, &w.id, &at);
	if (w.id_bytes < 0)
		w.id_bytes = 0;
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
