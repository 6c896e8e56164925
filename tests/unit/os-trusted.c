/* Whether nobody else can change what a path leads to: os_path_is_trusted(). */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/stranger.h"
#include "tap.h"

static char dir[4096];

/* DIR/NAME, in one of some buffers. */
static const char *
in(const char *name)
{
	static char path[4][sizeof dir + 64];
	static unsigned int nr;
	char *ret = path[nr++ % 4];

	snprintf(ret, sizeof path[0], "%s/%s", dir, name);
	return ret;
}

static void
make_directory(const char *name, mode_t mode)
{
	if (mkdir(in(name), 0700) < 0 || chmod(in(name), mode) < 0)
		exit(1);
}

static void
make_file(const char *name, mode_t mode)
{
	const int fd = open(in(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, mode) < 0 || close(fd) < 0)
		exit(1);
}

static void
make_link(const char *to, const char *name)
{
	if (symlink(to, in(name)) < 0)
		exit(1);
}

static void
make_places(void)
{
	make_directory("own", 0755);
	make_directory("open", 0777);
	make_directory("sticky", 01777);
	make_directory("group", 0775);
	make_file("own/file", 0644);
	make_file("own/open-file", 0666);
	make_file("open/file", 0644);
	make_file("sticky/file", 0644);
	make_file("group/file", 0644);
	make_directory("own/inner", 0755);
	make_file("own/inner/file", 0644);
	make_link(in("own/file"), "own/link");
	make_link(in("open/file"), "own/link-to-open");
	make_link("inner", "own/relative");
	make_link(in("own/file"), "open/link");
	make_link("loop", "own/loop");
	make_directory("open/inner", 0755);
	make_file("open/inner/file", 0644);
}

static void
check_places(void)
{
	ok(os_path_is_trusted(in("own/file")), "a file of ours in our directory is ours");
	ok(os_path_is_trusted(in("own/none")), "a file that is not there is ours in our directory");
	ok(os_path_is_trusted(in("none/none")), "and so it is in a directory that is not there");
	ok(os_path_is_trusted(in("own//inner/./file")),
		"empty parts of a name and dots change nothing");
	ok(os_path_is_trusted(in("sticky/file")), "a file of ours in a sticky directory is ours");
	ok(os_path_is_trusted(in("own/link")), "a link of ours to a file of ours is ours");
	ok(os_path_is_trusted(in("own/relative/file")),
		"a relative link to a directory of ours is ours");
	ok(!os_path_is_trusted(in("own/open-file")), "a file that all may write is a stranger's");
	ok(!os_path_is_trusted(in("open/file")),
		"a file in a directory that all may write is a stranger's");
	ok(!os_path_is_trusted(in("open/none")), "a file that all may make is a stranger's");
	ok(!os_path_is_trusted(in("open/inner/file")),
		"a directory that all may replace is a stranger's");
	ok(!os_path_is_trusted(in("group/file")),
		"a directory that a group may write is a stranger's");
	ok(!os_path_is_trusted(in("own/link-to-open")),
		"a link of ours to a stranger's file is a stranger's");
	ok(!os_path_is_trusted(in("open/link")), "a link that all may replace is a stranger's");
	ok(!os_path_is_trusted(in("own/loop")), "a link to itself is nobody's");
	ok(!os_path_is_trusted("own/file"), "a relative name is nobody's");
	ok(!os_path_is_trusted(""), "no name is nobody's");
}

/* A file in a sticky directory that is not there can be made by anybody. */
static void
check_sticky_without_file(void)
{
	ok(!os_path_is_trusted(in("sticky/none")),
		"a file that all may make in a sticky directory");
}

static void
check_owner(void)
{
	static const char name[] = "a file of another user in our directory is a stranger's";

	make_file("own/others", 0644);
	if (chown(in("own/others"), 65534, (gid_t)-1) < 0)
		skip(name, "only root can give a file away");
	else
		ok(!os_path_is_trusted(in("own/others")), "%s", name);
}

int
main(void)
{
	const char *tmp = getenv("TMPDIR");
	char command[sizeof dir + 16];

	snprintf(dir, sizeof dir, "%s/memdiag-trusted.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	make_places();
	check_places();
	check_sticky_without_file();
	check_owner();
	snprintf(command, sizeof command, "rm -r '%s'", dir);
	if (system(command) != 0)
		printf("# %s stays\n", dir);
	return tap_end();
}
