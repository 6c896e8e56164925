/*
 * Output of a program to descriptor 2 while that is redirected comes to its log, also when the
 * thread that puts it back does so only after memdiag has let go.  This process is the target; its
 * clock and what it does while memdiag sleeps are the test's.
 */
#include <config.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/capture.h"
#include "inject/malloc.h"
#include "os/os.h"
#include "os/target.h"
#include "fake-clock.h"
#include "tap.h"

#define DOCUMENT "<heap nr=\"0\">\n</heap>\n"
#define NEVER 1000000

static int nr_sleeps, write_at, back_at;
static int log_fd;

/* Each sleep lets the threads of the target do something. */
void
__wrap_os_sleep_ns(uint64_t ns)
{
	now_ns += ns;
	nr_sleeps++;
	if (nr_sleeps == write_at)
		dprintf(2, "late\n");
	if (nr_sleeps == back_at)
		dup2(log_fd, 2);
}

/* Descriptor 2 leads to a log, then to the file that malloc_info writes to. */
static bool
begin(struct redirect *r)
{
	char name[64];
	int file = memfd_create("memdiag-stderr", MFD_CLOEXEC);

	log_fd = memfd_create("log", MFD_CLOEXEC);
	if (file < 0 || log_fd < 0 || fcntl(file, F_SETFL, O_APPEND) < 0 ||
		fcntl(log_fd, F_SETFL, O_APPEND) < 0)
		return false;
	snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	*r = (struct redirect){ .file_fd = open(name, O_RDONLY | O_CLOEXEC),
		.old_fd = dup(log_fd) };
	return dup2(file, 2) == 2 && close(file) == 0 && r->file_fd >= 0 &&
		dprintf(2, "early\n" DOCUMENT) > 0;
}

static void
is_log(const char *want, const char *name)
{
	char got[256] = "";

	is_str(pread(log_fd, got, sizeof got - 1, 0) < 0 ? NULL : got, want, name);
}

/* The target writes a line in sleep WRITE, and puts descriptor 2 back in sleep BACK. */
static void
test(const char *what, int write_sleep, int back_sleep, const char *want_log)
{
	auto_target struct target t = TARGET_NONE;
	struct inject_target callee = { .target = &t };
	struct inject_report report = { .tid = 0 };
	struct redirect r = REDIRECT_NONE;
	struct text out = { 0 };
	uint64_t begun_ns = now_ns;
	int kept = dup(2);
	struct err e = { 0 };

	nr_sleeps = 0;
	write_at = write_sleep;
	back_at = back_sleep;
	ok(target_open(&t, getpid(), &e) == 0 && begin(&r), "%s: descriptor 2 is redirected", what);
	ok(redirect_read(&r, &callee, &out, &report, &e) == 0, "%s: what was caught is read %s",
		what, e.msg);
	ok(now_ns - begun_ns < UINT64_C(3000000000), "%s: in less than three seconds", what);
	dup2(kept, 2);
	close(kept);
	is_str(out.v, DOCUMENT, "the document is whole, and nothing else is in it");
	is_log(want_log, "the log has all lines, once");
	is_u64(report.replayed_bytes, strlen(want_log), "as many bytes are reported");
	text_release(&out);
	redirect_release(&r);
	close(log_fd);
}

int
main(void)
{
	test("put back at once", NEVER, 0, "early\n");
	/* Between its lines it is quiet for longer than a file that nobody writes to any more. */
	test("put back late", 20, 40, "early\nlate\n");
	test("never put back", 20, NEVER, "early\nlate\n");
	return tap_end();
}
