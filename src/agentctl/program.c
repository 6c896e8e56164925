#include <config.h>

#include "agentctl/program.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agentctl/allocator.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "os/stranger.h"

#define NOT_COUNTED ": the agent cannot be preloaded, and nothing would be counted"

/* ---- finding it ---- */

/* Return 0, or the errno value that prevents execution. */
static int
trouble_with(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

/* Without PATH, execvp() searches these directories (glibc 2.24, _CS_PATH). */
#define DEFAULT_PATH "/bin:/usr/bin"

static int
program_find_in_path(const char *name, char *buf, size_t size)
{
	const char *path = getenv("PATH"), *dir = path ? path : DEFAULT_PATH;
	int failed = ENOENT, trouble;

	for (;; dir++) {
		int len = (int)strcspn(dir, ":");

		/* Always with a slash, so that it is not searched again. */
		if ((size_t)snprintf(buf, size, "%.*s/%s", len ? len : 1, len ? dir : ".", name) <
			size) {
			trouble = trouble_with(buf);
			if (!trouble)
				return 0;
			if (trouble == EACCES)
				failed = EACCES;
		}
		dir += len;
		if (!*dir)
			return failed;
	}
}

int
program_find(const char *name, char *buf, size_t size, struct err *e)
{
	char shown[300];
	int failed;

	if (strchr(name, '/'))
		failed = (size_t)snprintf(buf, size, "%s", name) < size ? trouble_with(name)
									: ENAMETOOLONG;
	else
		failed = *name ? program_find_in_path(name, buf, size) : ENOENT;
	if (!failed)
		return 0;
	return err_set_kind(e,
		failed == ENOENT || failed == ENOTDIR ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE, failed,
		"cannot run %s", text_printable(name, shown, sizeof shown));
}

/* ---- can the agent be loaded into it ---- */

/* The number of interpreters that the kernel follows (fs/exec.c, exec_binprm()). */
#define MAX_INTERPRETERS 5
/* The bytes that the kernel reads of a script (BINPRM_BUF_SIZE). */
#define HEAD_BYTES 256

/*
 * Return the rights that a program has and its caller does not have: ld.so then preloads nothing,
 * or not from there (security/commoncap.c, cap_bprm_creds_from_file(): secureexec).
 */
static const char *
rights_of(const char *path)
{
	struct stat st;
	struct statvfs fs;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
		(statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID) || stat(path, &st) < 0)
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return "is setuid";
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
		return "is setgid";
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "has capabilities";
	return NULL;
}

/*
 * Return the name in PT_INTERP of IMAGE; "" if it does not end within its segment, NULL if
 * PT_INTERP is missing.
 */
static const char *
loader_of(const struct image *image)
{
	for (size_t i = 0; i < image_nr_phdrs(image); i++) {
		const Elf64_Phdr *p = image_phdr(image, i);
		const unsigned char *name;

		if (p->p_type != PT_INTERP)
			continue;
		name = image_bytes(image, (raddr){ image_bias(image) + p->p_vaddr }, p->p_filesz);
		return name && p->p_filesz && !name[p->p_filesz - 1] ? (const char *)name : "";
	}
	return NULL;
}

static bool
program_begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* glibc's is ld-linux.so.2, ld-linux-x86-64.so.2 ...; musl's is ld-musl-x86_64.so.1 ... */
static bool
program_is_known(const char *loader)
{
	const char *slash = strrchr(loader, '/'), *name = slash ? slash + 1 : loader;

	return program_begins_with(name, "ld-linux") || program_begins_with(name, "ld-musl");
}

/*
 * Recognise sanitizers' runtimes.  A runtime must be the first that defines malloc, and otherwise
 * ends the program or crashes.
 */
static int
see_needed(const char *name, void *arg)
{
	static const char *const runtimes[] = { "libasan.so", "liblsan.so", "libtsan.so",
		"libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan" };
	const char **ret = arg;

	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
		if (program_begins_with(name, runtimes[i]))
			*ret = name;
	return *ret != NULL;
}

/*
 * Return the name of a sanitizer's runtime that the program needs, or its first function if it is
 * linked in.
 */
static const char *
sanitizer_of(const struct image *program)
{
	static const char *const functions[] = { "__asan_init", "__lsan_init", "__tsan_init",
		"__hwasan_init", "__msan_init" };
	struct image_symbol ignored;
	const char *name = NULL;

	image_each_needed(program, see_needed, &name);
	for (size_t i = 0; !name && i < sizeof functions / sizeof *functions; i++)
		if (image_find(program, functions[i], &ignored) == 0)
			name = functions[i];
	return name;
}

/* Check that the agent can be loaded into the program.  PATH is printable. */
static int
check_elf(const char *path, const struct image *program, const struct image *agent, struct err *e)
{
	const char *loader = loader_of(program), *soname = image_soname(program), *sanitizer;
	const char *allocator;
	struct image_symbol ignored;
	char shown[100];

	if (image_class(program) != image_class(agent) ||
		image_machine(program) != image_machine(agent))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s is a program for another processor or of 32 bit, for which there is no agent" NOT_COUNTED,
			path);
	/* ld.so itself runs the program given as its argument. */
	if (!loader && soname && program_is_known(soname))
		return 0;
	if (!loader)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, "%s is statically linked" NOT_COUNTED, path);
	if (!program_is_known(loader))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s is for neither glibc nor musl, but for the libc of %s" NOT_COUNTED,
			path, text_printable(loader, shown, sizeof shown));
	/* The program's own code calls that malloc, and not the agent. */
	allocator =
		image_find(program, "malloc", &ignored) == 0 ? allocator_in_program(program) : NULL;
	if (allocator)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s has %s linked into it, whose malloc it calls" NOT_COUNTED, path,
			allocator);
	sanitizer = sanitizer_of(program);
	if (sanitizer)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s is built with a sanitizer (%s), which must serve malloc itself" NOT_COUNTED,
			path, text_printable(sanitizer, shown, sizeof shown));
	return 0;
}

/*
 * Store in BUF the program that the kernel runs for a file with this HEAD; false: the file itself.
 */
static bool
interpreter_of(const char *head, char *buf, size_t size)
{
	if (program_begins_with(head, ELFMAG))
		return false;
	if (!program_begins_with(head, "#!")) {
		/*
		 * execvp() has the shell read a file that the kernel does not recognise
		 * (posix/execvpe.c).
		 */
		snprintf(buf, size, "%s", _PATH_BSHELL);
		return true;
	}
	head += 2 + strspn(head + 2, " \t");
	snprintf(buf, size, "%.*s", (int)strcspn(head, " \t\n"), head);
	return true;
}

static int
program_read_head(const char *path, char *head, struct err *e)
{
	auto_fd int fd = os_open_at(AT_FDCWD, path, OS_REGULAR);
	ssize_t n = fd >= 0 ? read(fd, head, HEAD_BYTES) : -1;
	char shown[300];

	if (n < 0)
		return err_set_kind(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_PERMISSION, errno,
			"cannot read %s, to see whether the agent can be preloaded",
			text_printable(path, shown, sizeof shown));
	head[n] = '\0';
	return 0;
}

int
program_check(const char *path, const char *agent_path, struct err *e)
{
	auto_image struct image *agent = NULL, *program = NULL;
	char head[HEAD_BYTES + 1], interpreter[HEAD_BYTES], shown[300];
	const char *rights;

	for (int i = 0; i < MAX_INTERPRETERS; i++) {
		if (program_read_head(path, head, e) < 0)
			return -1;
		if (!interpreter_of(head, interpreter, sizeof interpreter))
			break;
		path = interpreter;
	}
	text_printable(path, shown, sizeof shown);
	rights = rights_of(path);
	if (rights)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s %s" NOT_COUNTED, shown, rights);
	if (image_open_file(&agent, agent_path, e) < 0 || image_open_file(&program, path, e) < 0)
		return -1;
	return check_elf(shown, program, agent, e);
}
