/* Where data goes, and that nothing is lost silently on the way. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "ui/output.h"
#include "ui/ui.h"
#include "tap.h"

static char dir[] = "/tmp/ui-output-XXXXXX";
static char path[64];

/* Write TEXT with the options -o WHERE and -f as FORCE says. */
static int
write_to(const char *where, bool force, const char *text, struct err *e)
{
	struct ui_options opt = { .output = where, .force = force };
	auto_output struct ui_output o = { 0 };

	if (ui_output_open(&o, &opt, e) < 0)
		return -1;
	fputs(text, o.f);
	return ui_output_close(&o, e);
}

static const char *
content(const char *name)
{
	static struct text text;
	auto_fd int fd = open(name, O_RDONLY);

	text_release(&text);
	return fd >= 0 && text_read(&text, fd, 1 << 20) == 0 ? text.v : NULL;
}

/* How many names there are in the scratch directory. */
static int
nr_files(void)
{
	char command[96];
	auto_free char *line = NULL;
	size_t size = 0;
	FILE *f;
	int n = 0;

	snprintf(command, sizeof command, "ls -A %s", dir);
	f = popen(command, "r");
	while (f && getline(&line, &size, f) > 0)
		n++;
	if (f)
		pclose(f);
	return n;
}

static void
test_file(void)
{
	struct ui_options opt = { .output = path };
	struct ui_output o;
	struct err e = { 0 };
	struct stat st;
	char link[80];

	umask(027);
	ok(write_to(path, false, "one", &e) == 0, "a new file is written: %s", e.msg);
	is_str(content(path), "one", "with what was said");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640, "and the rights of the umask");
	ok(write_to(path, false, "two", &e) == -1 && strstr(e.msg, "--force"),
		"a file that is there is not overwritten, and the way out is named");
	is_str(content(path), "one", "it is as it was");
	ok(write_to(path, true, "two", &e) == 0, "--force overwrites");
	is_str(content(path), "two", "with the new words");
	snprintf(link, sizeof link, "%s/link", dir);
	ok(symlink(path, link) == 0 && write_to(link, true, "three", &e) == 0 &&
			lstat(link, &st) == 0 && S_ISLNK(st.st_mode),
		"a symbolic link stays one");
	is_str(content(path), "three", "and what it points to is written");
	unlink(link);
	opt.force = true;
	ok(ui_output_open(&o, &opt, &e) == 0 && fputs("half", o.f) >= 0, "a write is begun");
	ui_output_release(&o);
	is_str(content(path), "three", "dropped half way, the old file is whole");
	is_u64((uint64_t)nr_files(), 1, "and no temporary file is left");
	unlink(path);
	opt.force = false;
	ok(ui_output_open(&o, &opt, &e) == 0 && fputs("ours", o.f) >= 0, "a new file is begun");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ok(ui_output_close(&o, &e) == -1 && e.code == EEXIST,
		"a file that appeared meanwhile is not replaced");
	ui_output_release(&o);
	is_u64((uint64_t)nr_files(), 1, "nor is a temporary file left then");
	ok(write_to("/nonexistent/x", false, "", &e) == -1 && strstr(e.msg, "/nonexistent/x"),
		"a directory that is not there: %s", e.msg);
}

/* On a pipe first: a mistake here would otherwise replace /dev/full for the whole machine. */
static bool
keeps_pipe(void)
{
	struct err e = { 0 };
	struct stat st;
	char got[8] = "", pipe[80];
	auto_fd int fd = -1;

	snprintf(pipe, sizeof pipe, "%s/pipe", dir);
	mkfifo(pipe, 0600);
	fd = open(pipe, O_RDONLY | O_NONBLOCK);
	ok(write_to(pipe, false, "x", &e) == 0, "a pipe that is there is written to: %s", e.msg);
	ok(lstat(pipe, &st) == 0 && S_ISFIFO(st.st_mode), "it is not replaced");
	ok(read(fd, got, sizeof got) == 1 && got[0] == 'x', "and the data came through");
	unlink(pipe);
	return S_ISFIFO(st.st_mode);
}

static void
test_device(void)
{
	struct err e = { 0 };

	if (!keeps_pipe())
		return;
	ok(write_to("/dev/full", true, "x", &e) == -1 && e.code == ENOSPC,
		"a full device is an error: %s", e.msg);
	ok(write_to("/dev/null", false, "x", &e) == 0, "a device needs no --force");
}

/* Exit status of a child whose stdout is OUT (-1: closed) that writes LEN bytes. */
static int
child_writes(int out, size_t len)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct err e = { 0 };
		auto_free char *text = calloc(1, len + 1);

		if (out < 0)
			close(STDOUT_FILENO);
		else
			dup2(out, STDOUT_FILENO);
		if (ui_keep_standard_files() < 0 || !text)
			_exit(9);
		memset(text, 'x', len);
		_exit(write_to("-", false, text, &e) == 0 ? 0 : e.code == ENOSPC ? 1 : 2);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
test_stdout(void)
{
	auto_fd int full = open("/dev/full", O_WRONLY), null = open("/dev/null", O_WRONLY);

	is_u64((uint64_t)child_writes(null, 10), 0, "stdout is written");
	is_u64((uint64_t)child_writes(full, 10), 1, "a full stdout is an error");
	is_u64((uint64_t)child_writes(full, 100000), 1, "also when an earlier write met it");
	is_u64((uint64_t)child_writes(full, 4096), 1, "which took all that there was to write");
	is_u64((uint64_t)child_writes(-1, 10), 2, "a closed stdout is an error");
}

static void
test_colour(void)
{
	struct ui_options opt = { .output = path, .force = true };
	auto_output struct ui_output o = { 0 };
	struct err e = { 0 };

	unsetenv("NO_COLOR");
	setenv("CLICOLOR_FORCE", "1", 1);
	ok(ui_output_open(&o, &opt, &e) == 0 && o.use_colour, "CLICOLOR_FORCE wants colour");
	ui_output_release(&o);
	setenv("NO_COLOR", "1", 1);
	ok(ui_output_open(&o, &opt, &e) == 0 && !o.use_colour, "NO_COLOR is stronger");
	ui_output_release(&o);
	unsetenv("NO_COLOR");
	unsetenv("CLICOLOR_FORCE");
	ok(ui_output_open(&o, &opt, &e) == 0 && !o.use_colour && !o.is_terminal && !o.columns,
		"a file is no terminal");
}

int
main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof path, "%s/out", dir);
	test_file();
	test_device();
	test_stdout();
	test_colour();
	unlink(path);
	rmdir(dir);
	return tap_end();
}
