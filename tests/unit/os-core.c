/*
 * Core files as targets: what is in them is read, what is not is refused, and nothing that is
 * written in them causes a crash.
 */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/core-proc.h"
#include "os/core.h"
#include "os/mapping.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/part.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "core-file.h"
#include "tap.h"

#define PROGRAM UINT64_C(0x400000)
#define BSS (PROGRAM + program_bytes)
#define HEAP UINT64_C(0x1000000)
#define NEXT (HEAP + 8 * CORE_PAGE) /* right behind it */
#define UNTOUCHED UINT64_C(0x7f0000000000)
#define STACK UINT64_C(0x7ffff0000000)

static char dir[] = "/tmp/memdiag-core.XXXXXX";
static char path[PATH_MAX];
static char pages[8 * CORE_PAGE];
static char program[PATH_MAX];
static uint64_t program_bytes = 2 * CORE_PAGE;
static char head[CORE_PAGE];

/* ---- the file that most of this is about ---- */

#define DATA_FILE (UNTOUCHED + 0x10000)
#define OTHER_FILE (UNTOUCHED + 0x18000)

static struct core_maker
maker(void)
{
	struct core_maker m = CORE_MAKER;
	const struct core_file_note files[] = {
		{ DATA_FILE, DATA_FILE + 2 * CORE_PAGE, 3, "/srv/a\nb" },
		{ OTHER_FILE, OTHER_FILE + CORE_PAGE, 0, "/srv/c" },
		{ PROGRAM, PROGRAM + program_bytes, 0, program },
	};
	uint64_t auxv[] = { AT_PAGESZ, CORE_PAGE, AT_PHDR, PROGRAM + 64, AT_RANDOM, STACK + 0x123,
		AT_SYSINFO_EHDR, UNTOUCHED + 0x20000, AT_NULL, 0 };

	core_add_thread(&m, 4712, SIGSEGV, STACK + 0x800, 0x7000);
	core_add_process(&m, 4711, "some \x1bname");
	core_add_note(&m, "CORE", NT_AUXV, auxv, sizeof auxv);
	core_add_files(&m, files, 3);
	core_add_note(&m, "LINUX", 0x202, pages, 512);
	core_add_thread(&m, 4711, 0, STACK + 0x100, 0x8000);
	core_add_thread(&m, 4713, 0, STACK + 0x200, 0x9000);

	core_add_segment(&m, PROGRAM, program_bytes, PF_R | PF_X, head, CORE_PAGE, NULL);
	core_add_segment(&m, BSS, CORE_PAGE, PF_R | PF_W, NULL, 0, NULL);
	core_add_segment(&m, HEAP, 8 * CORE_PAGE, PF_R | PF_W, pages, 8 * CORE_PAGE, ".dd..d.d");
	core_add_segment(&m, NEXT, CORE_PAGE, PF_R, pages, CORE_PAGE, NULL);
	core_add_segment(&m, UNTOUCHED, 4 * CORE_PAGE, PF_R | PF_W, NULL, 0, NULL);
	core_add_segment(&m, DATA_FILE, 2 * CORE_PAGE, PF_R, NULL, 0, NULL);
	core_add_segment(&m, OTHER_FILE, CORE_PAGE, PF_R, NULL, 0, NULL);
	core_add_segment(&m, UNTOUCHED + 0x20000, CORE_PAGE, PF_R | PF_X, pages, CORE_PAGE, NULL);
	core_add_segment(&m, STACK, CORE_PAGE, PF_R | PF_W, pages, CORE_PAGE, NULL);
	return m;
}

static const char *
in_dir(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static bool
open_core(struct target *t, const char *sysroot)
{
	struct err e = { 0 };

	return ok(target_open_core(t, path, sysroot, &e) == 0, "%s is a target %s", path, e.msg);
}

/* ---- what it says of the process ---- */

static void
test_process(const struct target *t)
{
	char name[64], exe[PATH_MAX];
	struct os_core_facts facts;
	struct os_status s;
	struct os_stat stat;
	struct err e = { 0 };

	is_u64((uint64_t)t->pid, 4711, "it is process 4711");
	is_str(t->comm, "some \\033name", "its name is made printable");
	ok(target_is_alive(t), "it stays");
	ok(os_core_facts(t, &facts), "it is a core file");
	is_str(facts.path, path, "of that path");
	is_u64((uint64_t)facts.signal, SIGSEGV, "a signal ended it");
	is_u64(facts.missing_bytes, 0, "nothing is missing");
	ok(!facts.is_filtered, "stacks were written");
	ok(os_status(t, 0, &s, &e) == 0 && s.has_memory && s.tgid == 4711 && s.ppid == 1 &&
			s.uid == 1000 && s.nr_threads == 3,
		"its status");
	is_u64(s.vm_size_bytes, (2 + 1 + 8 + 1 + 4 + 2 + 1 + 1 + 1) * CORE_PAGE, "its size");
	ok(os_stat(t, &stat, &e) == 0, "its stat");
	is_u64(stat.start_stack.v, STACK + 0x123, "an address in its stack");
	is_u64(stat.start_brk.v, HEAP, "where its heap is");
	ok(os_proc_link(t, "exe", exe, sizeof exe, &e) == 0, "its program is known");
	is_str(exe, program, "by name");
	is_str(os_thread_name(t, 4711, name, sizeof name), "some \\033name",
		"the main thread's name");
	is_str(os_thread_name(t, 4712, name, sizeof name), "?", "no other is known");
}

static void
test_threads(const struct target *t)
{
	auto_free pid_t *tids = NULL;
	struct os_syscall syscall;
	struct err e = { 0 };
	raddr at;
	size_t nr;

	if (!ok(os_threads(t, 100, &tids, &nr, &e) == 0, "its threads"))
		return;
	is_u64(nr, 3, "are three");
	ok(tids[0] == 4711 && tids[1] == 4712 && tids[2] == 4713, "in order");
	ok(os_thread_pointer(t, 4712, &at) == 0 && at.v == 0x7000, "with their thread pointers");
	ok(os_thread_pointer(t, 4713, &at) == 0 && at.v == 0x9000, "each its own");
	ok(os_thread_pointer(t, 4714, &at) < 0, "another has none");
	ok(os_thread_syscall(t, 4711, &syscall, &e) == 0 && !syscall.is_running &&
			syscall.nr == -1 && syscall.sp.v == STACK + 0x100 &&
			syscall.pc.v == 0x401000,
		"and registers");
	ok(os_thread_syscall(t, 1, &syscall, &e) < 0, "another has none: %s", e.msg);
}

static void
test_maps(const struct target *t)
{
	auto_text struct text text = { 0 }, wanted = { 0 };
	struct err e = { 0 };

	if (asprintf(&wanted.v,
		    "00400000-00402000 r-xp 00000000 00:00 3 %s\n"
		    "00402000-00403000 rw-p 00000000 00:00 0 \n"
		    "01000000-01008000 rw-p 00000000 00:00 0 [heap]\n"
		    "01008000-01009000 r--p 00000000 00:00 0 \n"
		    "7f0000000000-7f0000004000 rw-p 00000000 00:00 0 \n"
		    "7f0000010000-7f0000012000 r--p 00003000 00:00 1 /srv/a\\012b\n"
		    "7f0000018000-7f0000019000 r--p 00000000 00:00 2 /srv/c\n"
		    "7f0000020000-7f0000021000 r-xp 00000000 00:00 0 [vdso]\n"
		    "7ffff0000000-7ffff0001000 rw-p 00000000 00:00 0 [stack]\n",
		    program) < 0)
		abort();
	ok(os_proc_read(t, 0, "maps", &text, &e) == 0, "its mappings %s", e.msg);
	is_str(text.v, wanted.v, "are as the kernel would list them");
}

static void
test_refused(const struct target *t)
{
	const struct os_part heap = { "its heap", { HEAP }, 1 };
	struct text text = { 0 };
	raddr at = { 0 };
	struct err e = { 0 };
	char buf[8] = "";

	ok(os_proc_read(t, 0, "cgroup", &text, &e) < 0 && e.kind == ERR_UNSUPPORTED,
		"what it does not have: %s", e.msg);
	ok(os_proc_read(t, 4711, "maps", &text, &e) < 0, "nor of a thread");
	ok(os_proc_open(t, "maps", O_RDONLY, &e) < 0 && e.kind == ERR_UNSUPPORTED, "%s", e.msg);
	ok(os_proc_link(t, "cwd", buf, sizeof buf, &e) < 0 && e.kind == ERR_UNSUPPORTED, "%s",
		e.msg);
	ok(os_part_write(t, &heap, heap.start, buf, 1, &e) < 0 && e.kind == ERR_UNSUPPORTED, "%s",
		e.msg);
	ok(os_seize(t, 4711, &e) < 0 && e.kind == ERR_UNSUPPORTED, "%s", e.msg);
	ok(os_robust_list(t, getpid(), &at) < 0, "no thread of ours is taken for one of its");
}

/* ---- memory ---- */

static void
test_read(const struct target *t)
{
	char buf[9 * CORE_PAGE], zeroes[CORE_PAGE] = "";
	raddr each[] = { { HEAP + CORE_PAGE }, { UNTOUCHED }, { 0x10 }, { HEAP + 5 * CORE_PAGE } };
	struct err e = { 0 };

	ok(os_read(t, (raddr){ HEAP }, buf, sizeof buf, &e) == 0, "memory %s", e.msg);
	ok(memcmp(buf, zeroes, CORE_PAGE) == 0, "a hole is zeroes");
	ok(memcmp(buf + CORE_PAGE, pages + CORE_PAGE, 2 * CORE_PAGE) == 0, "what was written is");
	ok(memcmp(buf + 8 * CORE_PAGE, pages, CORE_PAGE) == 0, "in the next segment, too");
	ok(os_read(t, (raddr){ HEAP + 5 * CORE_PAGE + 17 }, buf, 9, &e) == 0 &&
			memcmp(buf, pages + 5 * CORE_PAGE + 17, 9) == 0,
		"a few bytes within");
	is_u64((uint64_t)os_read_some(t, (raddr){ NEXT + 4000 }, buf, 200, &e), 96,
		"up to where it ends");
	ok(os_read(t, (raddr){ NEXT + 4000 }, buf, 97, &e) < 0 && e.code == EFAULT,
		"no further: %s", e.msg);
	ok(os_read(t, (raddr){ HEAP - 1 }, buf, 1, &e) < 0 && e.code == EFAULT, "nor before");
	ok(os_read(t, (raddr){ UINT64_MAX - 3 }, buf, 8, &e) < 0, "nor around the end");
	ok(os_read(t, (raddr){ UNTOUCHED }, buf, 1, &e) < 0 && e.code == EFAULT,
		"what was not written cannot be read");
	ok(os_read(t, (raddr){ DATA_FILE }, buf, 1, &e) < 0 &&
			os_read(t, (raddr){ OTHER_FILE }, buf, 1, &e) < 0,
		"nor can memory that a file may or may not have");
	ok(os_read_each(t, each, 4, 8, buf, &e) == 0 && memcmp(buf, pages + CORE_PAGE, 8) == 0 &&
			memcmp(buf + 8, zeroes, 16) == 0 &&
			memcmp(buf + 24, pages + 5 * CORE_PAGE, 8) == 0,
		"many pieces at once");
}

/* Add RUN to the text of a walk. */
static int
note_run(const struct os_page_run *run, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%" PRIx64 "-%" PRIx64 "%s ", run->start.v, run->end.v,
		run->is_present && !run->is_swapped && !run->is_guard ? "" : "?");
	return 0;
}

static int
stop_at_second(const struct os_page_run *run, void *arg)
{
	int *nr = arg;

	(void)run;
	return ++*nr == 2 ? 7 : 0;
}

static void
runs(const struct target *t, uint64_t start, uint64_t end, const char *wanted, const char *what)
{
	auto_pages struct os_pages *p = NULL;
	char text[4096] = "";
	struct err e = { 0 };

	ok(os_pages_open(&p, t, OS_PAGES_AUTO, &e) == 0 &&
			os_pages_walk(p, (raddr){ start }, (raddr){ end }, false, note_run, text,
				&e) == 0,
		"pages can be found %s", e.msg);
	is_str(text, wanted, what);
}

static void
test_pages(const struct target *t)
{
	auto_pages struct os_pages *p = NULL;
	struct err e = { 0 };
	int nr = 0;

	runs(t, HEAP, NEXT, "1001000-1003000 1005000-1006000 1007000-1008000 ",
		"those with data, also zeroes that were written");
	runs(t, HEAP, NEXT + CORE_PAGE, "1001000-1003000 1005000-1006000 1007000-1009000 ",
		"a run goes on in the next segment");
	runs(t, HEAP + 2 * CORE_PAGE, HEAP + 5 * CORE_PAGE, "1002000-1003000 ",
		"of a part only what is in it");
	runs(t, UNTOUCHED, UNTOUCHED + 4 * CORE_PAGE, "", "none of what was not written");
	runs(t, 0, UINT64_MAX,
		"400000-401000 1001000-1003000 1005000-1006000 1007000-1009000 "
		"7f0000020000-7f0000021000 7ffff0000000-7ffff0001000 ",
		"of all there is");
	if (os_pages_open(&p, t, OS_PAGES_AUTO, &e) < 0)
		return;
	ok(os_pages_by(p) == OS_PAGES_HOLES, "found by holes");
	is_u64((uint64_t)os_pages_walk(
		       p, (raddr){ 0 }, (raddr){ STACK }, false, stop_at_second, &nr, &e),
		7, "a walk can be ended");
	is_u64((uint64_t)nr, 2, "at once");
}

static void
test_without_holes(void)
{
	auto_target struct target t = TARGET_NONE;
	auto_pages struct os_pages *p = NULL;
	struct err e = { 0 };

	if (!open_core(&t, NULL) || os_pages_open(&p, &t, OS_PAGES_AUTO, &e) < 0)
		return;
	ok(os_pages_by(p) == OS_PAGES_NONZERO, "without holes pages are found by their contents");
	runs(&t, HEAP, NEXT + CORE_PAGE, "1001000-1003000 1005000-1006000 1008000-1009000 ",
		"zeroes count as nothing");
	runs(&t, HEAP + 2 * CORE_PAGE, HEAP + 5 * CORE_PAGE, "1002000-1003000 ",
		"of a part only what is in it");
}

/* ---- files ---- */

/*
 * The core file has the first page of FILE, and the rest is read from FILE.  One page more than
 * FILE has is mapped, and cannot be read.
 */
static bool
reads_program(const struct target *t, const char *file)
{
	auto_fd int fd = open(file, O_RDONLY);
	auto_free char *got = malloc(program_bytes), *want = calloc(program_bytes, 1);
	struct err e;

	memset(got, 'x', program_bytes);
	return pread(fd, want, program_bytes, 0) > 0 &&
		os_read_some(t, (raddr){ PROGRAM }, got, program_bytes, &e) ==
		(ssize_t)program_bytes - CORE_PAGE &&
		memcmp(got, want, program_bytes - CORE_PAGE) == 0;
}

static bool
opens_program(const struct target *t)
{
	auto_fd int fd = os_mapping_open(t, (raddr){ PROGRAM }, (raddr){ 0 }, NULL, 0, 0);

	return fd >= 0;
}

static void
read_self(struct text *ret)
{
	auto_fd int fd = open("/proc/self/exe", O_RDONLY);

	if (text_read(ret, fd, 1 << 30) < 0)
		abort();
}

/* TEXT and zeroes up to SIZE bytes to the file TO. */
static void
write_file(const char *to, const struct text *text, size_t size)
{
	auto_fd int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, text->v, text->len) != (ssize_t)text->len || ftruncate(fd, (off_t)size) < 0)
		abort();
}

/* Our own program to TO, with its code left out as it is in a file of debug information. */
static void
write_debug_file(const char *to)
{
	auto_text struct text text = { 0 };
	const Elf64_Ehdr *h;
	Elf64_Shdr *s;

	read_self(&text);
	h = (const void *)text.v;
	s = (void *)(text.v + h->e_shoff);
	for (int i = 0; i < h->e_shnum; i++)
		if (s[i].sh_flags & SHF_EXECINSTR)
			s[i].sh_type = SHT_NOBITS;
	write_file(to, &text, text.len);
}

/* A program of whole pages and MORE bytes: its last page can be read, whether it is full or not. */
static void
test_file(const char *file, size_t more)
{
	auto_target struct target t = TARGET_NONE;
	auto_text struct text text = { 0 };
	struct core_maker m;
	size_t size;

	read_self(&text);
	size = (text.len + CORE_PAGE - 1) / CORE_PAGE * CORE_PAGE + more;
	write_file(file, &text, size);
	memcpy(head, text.v, sizeof head);
	program_bytes = ((size - 1) / CORE_PAGE + 2) * CORE_PAGE;
	snprintf(program, sizeof program, "%s", file);
	m = maker();
	core_write(&m, in_dir("self"), false);
	if (!open_core(&t, NULL))
		return;
	ok(reads_program(&t, file),
		"what is left out is read from a file of whole pages and %zu more bytes", more);
	ok(opens_program(&t), "which can be opened");
}

static void
test_files(void)
{
	char self[PATH_MAX], root[PATH_MAX], copy[PATH_MAX];
	struct core_maker m;
	struct target t;

	snprintf(self, sizeof self, "%s", in_dir("program"));
	test_file(self, 0);
	test_file(self, 1);
	test_file(self, CORE_PAGE - 1);

	snprintf(program, sizeof program, "/nowhere/to/be/found");
	m = maker();
	core_write(&m, in_dir("other"), false);
	if (open_core(&t, NULL)) {
		ok(!reads_program(&t, self), "there is nothing where the file is not");
		ok(!opens_program(&t), "nor can it be opened");
	}
	target_release(&t);

	snprintf(root, sizeof root, "%s/root", dir);
	mkdir(root, 0700);
	snprintf(copy, sizeof copy, "%s/root/found", dir);
	if (symlink(self, copy) < 0)
		abort();
	if (open_core(&t, root))
		ok(reads_program(&t, self), "it is found in the sysroot");
	target_release(&t);

	/* The same name, another build-id. */
	unlink(copy);
	if (symlink("/bin/sh", copy) < 0)
		abort();
	if (open_core(&t, root))
		ok(!opens_program(&t), "another file of that name is not taken for it");
	target_release(&t);

	unlink(copy);
	write_debug_file(copy);
	if (open_core(&t, root))
		ok(!opens_program(&t), "nor is its file of debug information");
	target_release(&t);

	unlink(copy);
	mkfifo(copy, 0600);
	if (open_core(&t, root))
		ok(!opens_program(&t), "nor is a FIFO waited for");
	target_release(&t);
	program_bytes = 2 * CORE_PAGE;
}

/* ---- cut off ---- */

static void
test_cut(void)
{
	auto_target struct target t = TARGET_NONE;
	struct core_maker m = maker();
	struct os_core_facts facts;
	struct err e = { 0 };
	uint64_t whole = core_write(&m, in_dir("cut"), false);
	char buf[CORE_PAGE];

	/* The last three of 13 pages are gone, and half of the one before. */
	if (truncate(path, (off_t)(whole - 3 * CORE_PAGE - CORE_PAGE / 2)) < 0 ||
		!open_core(&t, NULL))
		return;
	ok(os_core_facts(&t, &facts) && facts.missing_bytes == 3 * CORE_PAGE + CORE_PAGE / 2,
		"it is said how much is missing");
	is_u64(facts.memory_bytes, 12 * CORE_PAGE, "of how much");
	ok(os_read(&t, (raddr){ HEAP + 5 * CORE_PAGE }, buf, CORE_PAGE, &e) == 0 &&
			memcmp(buf, pages + 5 * CORE_PAGE, CORE_PAGE) == 0,
		"what is there can be read");
	is_u64((uint64_t)os_read_some(&t, (raddr){ HEAP + 7 * CORE_PAGE }, buf, CORE_PAGE, &e),
		CORE_PAGE / 2, "up to where the file ends");
	ok(os_read(&t, (raddr){ STACK }, buf, 1, &e) < 0, "what is not cannot");
	runs(&t, HEAP, STACK + CORE_PAGE, "1001000-1003000 1005000-1006000 ",
		"and its pages are not there");
	for (off_t n = 2000; n > 0; n -= 61) {
		struct target gone;

		if (truncate(path, n) < 0 || target_open_core(&gone, path, NULL, &e) == 0)
			return (void)ok(false, "of %d bytes nothing can be used", (int)n);
		if (n > 64 && !strstr(e.msg, "cut off"))
			return (void)ok(false, "of %d bytes: %s", (int)n, e.msg);
	}
	ok(true, "a file that ends before its notes do: %s", e.msg);
}

/* ---- files that are not core files ---- */

static void
refuses(const char *file, enum err_kind kind, const char *words)
{
	struct err e = { 0 };
	struct target t;

	ok(target_open_core(&t, file, NULL, &e) < 0 && e.kind == kind && strstr(e.msg, words),
		"refused: %s", e.msg);
	ok(!t.core, "nothing is left");
}

static void
put(const char *name, const void *data, size_t bytes)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
}

static void
test_not_a_core(void)
{
	struct core_maker m = maker();

	refuses("/nowhere", ERR_FAILED, "No such file");
	refuses(dir, ERR_UNSUPPORTED, "not a regular file");
	mkfifo(in_dir("fifo"), 0600);
	refuses(path, ERR_UNSUPPORTED, "not a regular file");
	put("empty", "", 0);
	refuses(path, ERR_UNSUPPORTED, "not a core file");
	put("text", "hello, world\n", 13);
	refuses(path, ERR_UNSUPPORTED, "not a core file");
	refuses("/proc/self/exe", ERR_UNSUPPORTED, "a program or a library");
	put("packed", "\x28\xb5\x2f\xfd and so on", 14);
	refuses(path, ERR_UNSUPPORTED, "zstd -d");
	put("packed", "\x1f\x8b\x08 and so on", 13);
	refuses(path, ERR_UNSUPPORTED, "gzip -d");
	m.machine = EM_RISCV;
	core_write(&m, in_dir("riscv"), false);
	refuses(path, ERR_UNSUPPORTED, "ELF machine 243, 64 bit");
	m.class = ELFCLASS32;
	m.machine = EM_X86_64;
	core_write(&m, in_dir("x32"), false);
	refuses(path, ERR_UNSUPPORTED, "32 bit");
	m = (struct core_maker)CORE_MAKER;
	core_add_thread(&m, 1, 0, 0, 0);
	core_write(&m, in_dir("bare"), false);
	refuses(path, ERR_UNSUPPORTED, "no memory");
	m = maker();
	m.notes_bytes = 0;
	core_write(&m, in_dir("silent"), false);
	refuses(path, ERR_UNSUPPORTED, "no threads");
}

static void
test_not_readable(void)
{
	struct core_maker m = maker();
	pid_t pid;

	core_write(&m, in_dir("secret"), false);
	if (getuid() != 0) {
		skip("a file that may not be read", "it takes root to become somebody else");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct err e = { 0 };
		struct target t;
		bool refused = seteuid(65534) == 0 && target_open_core(&t, path, NULL, &e) < 0 &&
			e.kind == ERR_PERMISSION;

		_exit(!refused);
	}
	int status;
	waitpid(pid, &status, 0);
	ok(status == 0, "a file that may not be read");
}

/* ---- other machines ---- */

static void
test_machine(int class, int machine, const char *what, bool has_pointer)
{
	auto_target struct target t = TARGET_NONE;
	struct core_maker m = { .class = class, .machine = machine };
	struct os_syscall syscall;
	struct err e = { 0 };
	char buf[8];
	raddr at = { 0 };

	core_add_thread(&m, 12, SIGABRT, 0x2000800, 0x2000900);
	core_add_process(&m, 12, "foreign");
	core_add_files(&m, (struct core_file_note[]){ { 0x1000000, 0x1001000, 0, "/a" } }, 1);
	core_add_segment(&m, 0x1000000, CORE_PAGE, PF_R, NULL, 0, NULL);
	core_add_segment(&m, 0x2000000, CORE_PAGE, PF_R | PF_W, pages, CORE_PAGE, NULL);
	core_write(&m, in_dir(what), false);
	if (!open_core(&t, NULL))
		return;
	is_u64((uint64_t)t.pid, 12, "its number");
	is_str(t.comm, "foreign", "its name");
	ok(os_thread_syscall(&t, 12, &syscall, &e) == 0 && syscall.sp.v == 0x2000800 &&
			syscall.pc.v == 0x401000,
		"its registers");
	ok((os_thread_pointer(&t, 12, &at) == 0) == has_pointer &&
			at.v == (has_pointer ? 0x2000900 : 0),
		"its thread pointer");
	ok(os_read(&t, (raddr){ 0x2000010 }, buf, 8, &e) == 0 && memcmp(buf, pages + 16, 8) == 0,
		"its memory");
}

/* ---- large ones ---- */

static void
test_large(void)
{
	auto_target struct target t = TARGET_NONE;
	struct core_maker m = maker();
	struct err e = { 0 };
	char buf[8];

	m.memory_offset = UINT64_C(5) << 30;
	core_write(&m, in_dir("large"), false);
	if (open_core(&t, NULL)) {
		ok(os_read(&t, (raddr){ STACK + 24 }, buf, 8, &e) == 0 &&
				memcmp(buf, pages + 24, 8) == 0,
			"memory beyond 4 GiB of a file");
		runs(&t, HEAP, NEXT, "1001000-1003000 1005000-1006000 1007000-1008000 ",
			"and its pages");
	}
	unlink(path);
}

/* More segments than e_phnum can hold: the number is in a section header at the end. */
static void
test_many_segments(void)
{
	enum { NR = 70000 };
	auto_free Elf64_Phdr *p = calloc(NR + 1, sizeof *p);
	auto_target struct target t = TARGET_NONE;
	struct core_maker m = CORE_MAKER;
	Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				 EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof h,
		.e_phoff = sizeof h,
		.e_phentsize = sizeof *p,
		.e_phnum = PN_XNUM,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 1 };
	Elf64_Shdr s = { .sh_info = NR + 1, .sh_size = 1 };
	off_t at = sizeof h + (NR + 1) * sizeof *p, data;
	struct err e = { 0 };
	char buf[8] = "";
	int fd = open(in_dir("many"), O_RDWR | O_CREAT | O_TRUNC, 0600);

	core_add_thread(&m, 1, 0, 0, 0);
	data = (at + (off_t)m.notes_bytes + CORE_PAGE) & -(off_t)CORE_PAGE;
	h.e_shoff = (Elf64_Off)data + CORE_PAGE;
	p[0] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = (Elf64_Off)at, .p_filesz = m.notes_bytes
	};
	for (int i = 1; i <= NR; i++)
		p[i] = (Elf64_Phdr){ .p_type = PT_LOAD,
			.p_offset = (Elf64_Off)data,
			.p_vaddr = (Elf64_Addr)i * 2 * CORE_PAGE,
			.p_memsz = CORE_PAGE,
			.p_filesz = i == NR ? CORE_PAGE : 0 };
	if (pwrite(fd, &h, sizeof h, 0) < 0 || pwrite(fd, p, (NR + 1) * sizeof *p, sizeof h) < 0 ||
		pwrite(fd, m.notes, m.notes_bytes, at) < 0 ||
		pwrite(fd, pages, CORE_PAGE, data) < 0 ||
		pwrite(fd, &s, sizeof s, (off_t)h.e_shoff) < 0)
		abort();
	if (open_core(&t, NULL))
		ok(os_read(&t, (raddr){ UINT64_C(2) * NR * CORE_PAGE }, buf, 8, &e) == 0 &&
				memcmp(buf, pages, 8) == 0,
			"the last of %d segments", NR);
	if (ftruncate(fd, data + CORE_PAGE) < 0)
		abort();
	refuses(path, ERR_UNSUPPORTED, "cut off");
	close(fd);
}

/* ---- lies ---- */

static void
test_lies(void)
{
	static const uint64_t huge_files[] = { UINT64_C(1) << 60, CORE_PAGE, 1, 2, 3 };
	auto_target struct target t = TARGET_NONE;
	struct core_maker m = CORE_MAKER;
	struct err e = { 0 };
	struct text text = { 0 };
	char buf[2 * CORE_PAGE];
	auto_free pid_t *tids = NULL;
	size_t nr = 0;
	raddr at;

	core_add_thread(&m, 1, 0, 0, UINT64_MAX);
	core_add_note(&m, "CORE", NT_PRSTATUS, pages, 100);
	core_add_note(&m, "CORE", NT_FILE, huge_files, sizeof huge_files);
	core_add_note(&m, "CORE", NT_AUXV, pages, 13);
	core_add_note(&m, "CORE", NT_PRPSINFO, pages, 3);
	core_add_segment(&m, HEAP, 2 * CORE_PAGE, PF_W, pages, 2 * CORE_PAGE, NULL);
	core_add_segment(&m, HEAP + CORE_PAGE, 2 * CORE_PAGE, PF_W, pages, CORE_PAGE, NULL);
	core_add_segment(&m, UINT64_MAX - CORE_PAGE, UINT64_MAX / 2, PF_W, pages, CORE_PAGE, NULL);
	core_add_segment(&m, NEXT, 16, PF_R, pages, CORE_PAGE, NULL);
	core_add_segment(&m, NEXT + 100, 0, PF_R, pages, CORE_PAGE, NULL);
	core_write(&m, in_dir("lies"), false);
	if (!open_core(&t, NULL))
		return;
	ok(os_proc_read(&t, 0, "maps", &text, &e) == 0, "mappings");
	is_str(text.v,
		"01000000-01002000 -w-p 00000000 00:00 0 \n"
		"01008000-01008010 r--p 00000000 00:00 0 \n",
		"that overlap or wrap are left out");
	text_release(&text);
	is_u64((uint64_t)os_read_some(&t, (raddr){ NEXT }, buf, 64, &e), 16,
		"data beyond the memory it is for is ignored");
	is_u64((uint64_t)os_read_some(&t, (raddr){ HEAP }, buf, sizeof buf, &e), 2 * CORE_PAGE,
		"the first segment counts");
	ok(os_threads(&t, 100, &tids, &nr, &e) == 0 && nr == 1, "half a thread is no thread");
	ok(os_thread_pointer(&t, 1, &at) == 0 && at.v == UINT64_MAX, "a pointer is but a number");
	ok(os_proc_read(&t, 0, "auxv", &text, &e) == 0, "half an auxiliary vector");
	text_release(&text);
}

/* Nothing of anonymous memory was written. */
static void
test_filtered(void)
{
	auto_target struct target t = TARGET_NONE;
	struct core_maker m = CORE_MAKER;
	struct os_core_facts facts;

	core_add_thread(&m, 1, 0, STACK + 8, 0);
	core_add_segment(&m, STACK, CORE_PAGE, PF_R | PF_W, NULL, 0, NULL);
	core_write(&m, in_dir("filtered"), false);
	if (open_core(&t, NULL))
		ok(os_core_facts(&t, &facts) && facts.is_filtered,
			"that stacks are left out is said");
}

int
main(void)
{
	struct core_maker m;
	struct target t;
	char command[PATH_MAX];

	if (!mkdtemp(dir))
		abort();
	for (size_t i = 0; i < sizeof pages - CORE_PAGE; i++)
		pages[i] = (char)(i * 7 + i / CORE_PAGE + 1);
	strcpy(program, "/srv/program");
	m = maker();
	core_write(&m, in_dir("core"), false);
	if (open_core(&t, NULL)) {
		test_process(&t);
		test_threads(&t);
		test_maps(&t);
		test_refused(&t);
		test_read(&t);
		test_pages(&t);
	}
	target_release(&t);
	core_write(&m, in_dir("full"), true);
	test_without_holes();
	m.has_notes_last = true;
	core_write(&m, in_dir("gcore-copied"), false);
	test_without_holes();
	test_files();
	test_cut();
	test_not_a_core();
	test_not_readable();
	test_machine(ELFCLASS64, EM_X86_64, "x86-64", true);
	test_machine(ELFCLASS64, EM_AARCH64, "aarch64", true);
	test_machine(ELFCLASS32, EM_386, "i386", false);
	test_large();
	test_many_segments();
	test_lies();
	test_filtered();
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command) != 0 || tap_end();
}
