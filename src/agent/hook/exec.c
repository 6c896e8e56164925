/*
 * exec: the environment of programs that this process starts.  They would inherit LD_PRELOAD, which
 * loads the agent.  Some programs cannot start with the agent (sanitizers, programs for another
 * processor), and the children of `memdiag run` without --follow-children do not need it.
 *
 * These functions are called in children of vfork(), which share their parent's memory, and in
 * signal handlers, so they write only to the stack.
 */
#include <config.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/compiler.h"
#include "agent/base/real.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/hook/agent.h"
#include "agent/note/profile.h"
#include "wire/wire.h"

/*
 * Lists of any length can only be on the stack, and no function may return while they are in use.
 */
#pragma GCC diagnostic ignored "-Wvla"

/* A longer environment is passed on unchanged, as is one whose copy does not fit the stack. */
#define MAX_ENTRIES 16384
#define MAX_TEXT 8192
#define MAX_INTERPRETERS 4
#define MAX_PHDRS 64
#define MAX_PATH 4096

/* ---- whether a program can start with the agent ---- */

static bool
exec_begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool
read_at(long fd, void *buf, size_t size, uint64_t offset)
{
	return sys_call(SYS_pread64, fd, buf, size, offset) == (long)size;
}

struct exec_program {
	long fd;
	uint16_t nr_phdrs;
	Elf64_Phdr phdr[MAX_PHDRS];
};

/* The offset of the address AT in the file; 0 if the file does not contain it. */
static uint64_t
exec_offset_of(const struct exec_program *p, uint64_t at)
{
	for (size_t i = 0; i < p->nr_phdrs; i++)
		if (p->phdr[i].p_type == PT_LOAD && at - p->phdr[i].p_vaddr < p->phdr[i].p_filesz)
			return at - p->phdr[i].p_vaddr + p->phdr[i].p_offset;
	return 0;
}

/*
 * True if NEEDED is a sanitizer's runtime, which must be the first object that defines malloc:
 * AddressSanitizer ends the program otherwise (asan_linux.cpp, AsanCheckDynamicRTPrereqs()), the
 * others crash.  A runtime that is linked statically into the program is always first.
 */
static bool
is_sanitizer(const char *needed)
{
	static const char *const names[] = { "libasan.so", "liblsan.so", "libtsan.so",
		"libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (exec_begins_with(needed, names[i]))
			return true;
	return false;
}

static bool
needs_sanitizer(const struct exec_program *p, const Elf64_Phdr *dynamic)
{
	uint64_t names = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->p_filesz;
			at += sizeof(Elf64_Dyn)) {
			Elf64_Dyn d;
			char name[24] = "";

			if (!read_at(p->fd, &d, sizeof d, dynamic->p_offset + at) ||
				d.d_tag == DT_NULL)
				break;
			if (d.d_tag == DT_STRTAB)
				names = exec_offset_of(p, d.d_un.d_ptr);
			if (pass && names && d.d_tag == DT_NEEDED &&
				read_at(p->fd, name, sizeof name - 1, names + d.d_un.d_val) &&
				is_sanitizer(name))
				return true;
		}
	}
	return false;
}

/* For an unreadable file, either answer is correct. */
static bool
elf_can_take(long fd, const Elf64_Ehdr *head)
{
	struct exec_program p = { .fd = fd, .nr_phdrs = head->e_phnum };
#if defined __x86_64__
	const uint16_t machine = EM_X86_64;
#else
	const uint16_t machine = EM_AARCH64;
#endif

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != machine)
		return false;
	if (p.nr_phdrs > MAX_PHDRS || head->e_phentsize != sizeof *p.phdr ||
		!read_at(fd, p.phdr, p.nr_phdrs * sizeof *p.phdr, head->e_phoff))
		return true;
	for (size_t i = 0; i < p.nr_phdrs; i++)
		if (p.phdr[i].p_type == PT_DYNAMIC)
			return !needs_sanitizer(&p, &p.phdr[i]);
	return true;
}

/* The text that follows "#!" of a script, cut out of TEXT; NULL if TEXT is not a script. */
static char *
interpreter(char *text)
{
	if (text[0] != '#' || text[1] != '!')
		return NULL;
	text += 2;
	text += strspn(text, " \t");
	text[strcspn(text, " \t\n")] = '\0';
	return text;
}

/* True if the program can be started with the agent. */
static bool
can_take(const char *path)
{
	union {
		Elf64_Ehdr elf;
		char text[257];
	} head;
	char name[sizeof head];

	for (int i = 0; path && i < MAX_INTERPRETERS; i++) {
		long fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), n;
		bool answer = true, is_elf;

		if (sys_failed(fd))
			return true;
		memset(&head, 0, sizeof head);
		n = sys_call(SYS_read, fd, &head, sizeof head.text - 1);
		is_elf = n >= (long)sizeof head.elf && memcmp(&head, ELFMAG, SELFMAG) == 0;
		if (is_elf)
			answer = elf_can_take(fd, &head.elf);
		sys_call(SYS_close, fd);
		if (is_elf || n <= 0)
			return answer;
		path = interpreter(head.text);
		if (path)
			path = strcpy(name, path);
	}
	return true;
}

/* The file that execvp() would find for NAME; NULL if not found. */
static const char *
exec_find_in_path(const char *name, char buf[MAX_PATH])
{
	const char *at = NULL;

	if (strchr(name, '/'))
		return name;
	for (char **e = environ; e && *e && !at; e++)
		if (exec_begins_with(*e, "PATH="))
			at = *e + 5;
	if (!at)
		at = "/bin:/usr/bin"; /* glibc 2.24, posix/execvpe.c: CS_PATH */
	while (*at) {
		size_t n = strcspn(at, ":");

		if (n + strlen(name) + 2 <= MAX_PATH) {
			memcpy(buf, at, n);
			buf[n] = '/';
			strcpy(buf + n + 1, name);
			if (!sys_failed(sys_call(SYS_faccessat, AT_FDCWD, n ? buf : name, X_OK)))
				return n ? buf : name;
		}
		at += n + (at[n] == ':');
	}
	return NULL;
}

/* ---- an environment without the agent ---- */

/* True if the N bytes at NAME, an element of LD_PRELOAD, name the agent. */
static bool
is_agent(const char *name, size_t n)
{
	static const char *const ours[] = { "libmemdiag-agent.so", "libmemtracer.so" };

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		size_t len = strlen(ours[i]);

		if (n >= len && strncmp(name + n - len, ours[i], len) == 0 &&
			(n == len || name[n - len - 1] == '/'))
			return true;
	}
	return false;
}

/* Copy LD_PRELOAD's list without the agent to TO, which has room for it.  Returns the length. */
static size_t
preload_without_agent(const char *list, char *to)
{
	size_t out = 0;

	while (*list) {
		size_t n = strcspn(list, ": ");

		if (n && !is_agent(list, n)) {
			if (out)
				to[out++] = ':';
			memcpy(to + out, list, n);
			out += n;
		}
		list += n + (list[n] != '\0');
	}
	to[out] = '\0';
	return out;
}

static const char preload[] = "LD_PRELOAD=";

/*
 * The environment of a program to be started: ENVP, or a copy without the agent.  The copy's list
 * and its LD_PRELOAD text are on the caller's stack.
 */
struct starting {
	char *const *envp;
	size_t nr; /* entries that the copy needs; 1: no copy is made */
	size_t text_bytes;
};

/*
 * The rest of the stack that these functions need, including libc's frames up to the system call.
 */
#define OTHER_STACK_BYTES 8192

/*
 * True if a copy of BYTES fits the stack, which may be a thread's.  The kernel reads a word of each
 * page of the stack before it rejects the invalid HOW (rt_sigprocmask in kernel/signal.c).
 */
static bool
fits_stack(size_t bytes)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t page = 4096, end = here - bytes - OTHER_STACK_BYTES;
	const long no_how = -1;

	for (uintptr_t at = here & -page; at + page > end; at -= page)
		if (sys_call(SYS_rt_sigprocmask, no_how, at, NULL, sizeof(uint64_t)) == -EFAULT)
			return false;
	return true;
}

/*
 * True if this is a child of the first process or is about to become one.  In a forked child the
 * agent is off, so no system call is needed there, which a filter might not allow.
 */
static bool
is_of_child(bool is_child)
{
	return is_child || (settings_is_on && agent_is_off()) ||
		(uint64_t)sys_call(SYS_getpid, 0) != settings.pid;
}

/* True if the program PATH must start without the agent. */
static bool
is_without(const char *path, bool is_child)
{
	return (settings.pid && !settings.follows && is_of_child(is_child)) || !can_take(path);
}

static struct starting
starting(const char *path, char *const *envp, bool is_child)
{
	struct starting s = { envp, 0, 1 };
	bool has_agent = false;

	for (; envp && envp[s.nr]; s.nr++) {
		if (!exec_begins_with(envp[s.nr], preload))
			continue;
		s.text_bytes = strlen(envp[s.nr]) + 1;
		has_agent = true;
	}
	if (!has_agent || s.nr >= MAX_ENTRIES || s.text_bytes > MAX_TEXT ||
		!fits_stack((s.nr + 1) * sizeof *envp + s.text_bytes) ||
		!is_without(path, is_child))
		return (struct starting){ envp, 0, 1 };
	return s;
}

static char *const *
environment_of(const struct starting *s, char **copy, char *text)
{
	size_t nr = 0;

	if (!s->nr)
		return s->envp;
	for (size_t i = 0; i < s->nr; i++) {
		if (exec_begins_with(s->envp[i], WIRE_ENVIRONMENT "="))
			continue;
		copy[nr++] = s->envp[i];
		if (!exec_begins_with(s->envp[i], preload))
			continue;
		memcpy(text, preload, sizeof preload);
		if (preload_without_agent(
			    s->envp[i] + sizeof preload - 1, text + sizeof preload - 1))
			copy[nr - 1] = text;
		else
			nr--;
	}
	copy[nr] = NULL;
	return copy;
}

/* ---- the hooks ---- */

/* Get ready: a program may start another before it has allocated. */
static bool
exec_get_ready(void)
{
	if (!real.execve && agent_enter_slowly())
		agent_leave();
	return real.execve && real.execvpe && real.fexecve && real.posix_spawn && real.posix_spawnp;
}

/*
 * A shell tries a name in one directory after another.  Nothing is written for a missing file, as
 * it would have to be removed again.
 */
static struct profile_left
leave_for(const char *path)
{
	const struct profile_left nothing = { NULL, false };
	struct statx st;
	long failed;

	if (!settings.profiles || agent_is_off())
		return nothing;
	failed = sys_call(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE, &st);
	return failed == -ENOENT || failed == -ENOTDIR ? nothing : profile_leave_by_exec();
}

static int
lacks_function(void)
{
	errno = ENOSYS;
	return -1;
}

EXPORT int
execve(const char *path, char *const argv[], char *const envp[])
{
	const struct starting s = starting(path, envp, false);
	char *copy[s.nr + 1], text[s.text_bytes];
	struct profile_left left;

	if (!exec_get_ready())
		return lacks_function();
	left = leave_for(path);
	real.execve(path, argv, environment_of(&s, copy, text));
	profile_stay(left);
	return -1;
}

EXPORT int
execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[]);
EXPORT int
execvpe(const char *file, char *const argv[], char *const envp[])
{
	char found[MAX_PATH];
	const struct starting s = starting(exec_find_in_path(file, found), envp, false);
	char *copy[s.nr + 1], text[s.text_bytes];
	struct profile_left left;

	if (!exec_get_ready())
		return lacks_function();
	left = profile_leave_by_exec();
	real.execvpe(file, argv, environment_of(&s, copy, text));
	profile_stay(left);
	return -1;
}

EXPORT int
execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

#define FD_PATH "/proc/self/fd/"

static const char *
path_of_fd(int fd, char buf[sizeof FD_PATH + 12])
{
	char digits[12];
	size_t n = sizeof FD_PATH - 1, d = 0;

	memcpy(buf, FD_PATH, n);
	for (unsigned int rest = (unsigned int)fd; d == 0 || rest; rest /= 10)
		digits[d++] = (char)('0' + rest % 10);
	while (d)
		buf[n++] = digits[--d];
	buf[n] = '\0';
	return buf;
}

EXPORT int
fexecve(int fd, char *const argv[], char *const envp[])
{
	char path[sizeof FD_PATH + 12];
	const struct starting s = starting(path_of_fd(fd, path), envp, false);
	char *copy[s.nr + 1], text[s.text_bytes];
	struct profile_left left;

	if (!exec_get_ready())
		return lacks_function();
	left = profile_leave_by_exec();
	real.fexecve(fd, argv, environment_of(&s, copy, text));
	profile_stay(left);
	return -1;
}

/*
 * The number of words that execl() and related functions need for their list, including the final
 * NULL.
 */
static size_t
room_for(const char *first, va_list *args)
{
	size_t nr = 1;
	va_list copy;

	va_copy(copy, *args);
	for (; first; first = va_arg(copy, const char *))
		nr++;
	va_end(copy);
	return nr;
}

static void
list(char **to, const char *first, va_list *args)
{
	for (; first; first = va_arg(*args, const char *))
		*to++ = (char *)(uintptr_t)first;
	*to = NULL;
}

EXPORT int
execl(const char *path, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	char *argv[room_for(arg, &args)];
	list(argv, arg, &args);
	va_end(args);
	return execve(path, argv, environ);
}

EXPORT int
execlp(const char *file, const char *arg, ...)
{
	va_list args;

	va_start(args, arg);
	char *argv[room_for(arg, &args)];
	list(argv, arg, &args);
	va_end(args);
	return execvpe(file, argv, environ);
}

/* The environment follows the end of the list. */
EXPORT int
execle(const char *path, const char *arg, ...)
{
	char *const *envp;
	va_list args;

	va_start(args, arg);
	char *argv[room_for(arg, &args)];
	list(argv, arg, &args);
	envp = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, envp);
}

EXPORT int
posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	const struct starting s = starting(path, envp, true);
	char *copy[s.nr + 1], text[s.text_bytes];

	return exec_get_ready() ? real.posix_spawn(pid, path, actions, attributes, argv,
					  environment_of(&s, copy, text))
				: ENOSYS;
}

EXPORT int
posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	char found[MAX_PATH];
	const struct starting s = starting(exec_find_in_path(file, found), envp, true);
	char *copy[s.nr + 1], text[s.text_bytes];

	return exec_get_ready() ? real.posix_spawnp(pid, file, actions, attributes, argv,
					  environment_of(&s, copy, text))
				: ENOSYS;
}
