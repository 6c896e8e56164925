/*
 * around [LIBRARY [past]]: what MemTracer forbids, and calls that come before or beside the usual
 * ones.  LIBRARY allocates in an IFUNC resolver and a constructor.  With "past" also blocks that
 * are not the agent's, where requested bytes are counted and malloc is glibc's.
 */
#include "count.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/syscall.h>

static void
try_forbidden(void)
{
	char *path, *text = NULL;
	pthread_attr_t attributes;
	char *was = sbrk(0);

	begin_count();
	ok(pthread_getattr_np(pthread_self(), &attributes) == 0, "pthread_getattr_np");
	pthread_attr_destroy(&attributes);
	path = realpath("/proc/self/../self", NULL);
	ok(path != NULL, "realpath");
	free(path);
	ok(syscall(SYS_getpid) == getpid(), "syscall");
	ok(sbrk(4096) != (void *)-1 && (char *)sbrk(0) >= was, "sbrk");
	ok(asprintf(&text, "%d", 5) == 1, "asprintf");
	free(text);
	text = strdup("five");
	free(text);
	counted(0, "what libc allocates for others");
}

/*
 * A block that was got past the agent, where one of the agent's had been: it counts for what is
 * usable, not for what the other one was.
 */
static void
try_past(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *volatile keep = malloc(10000); /* the sum is never reported as less than 0 */
	void *volatile p;
	void *(*of_libc)(size_t);
	long usable;

	of_libc = (void *(*)(size_t))dlsym(libc, "malloc");
	p = malloc(501);
	usable = (long)((((size_t *)p)[-1] & ~(size_t)7) - sizeof(size_t));
	free(p);
	begin_count();
	p = of_libc(501 + sizeof(uint64_t));
	counted(0, "a block past the agent");
	free(p);
	counted(-usable, "is freed by it");
	free(keep);
}

/* Loads and unloads it, again and again. */
static void *
load_library(void *name)
{
	void *handle;
	int (*fn)(void);

	for (int i = 0; i < 100; i++) {
		handle = dlopen(name, RTLD_NOW | (i % 2 ? RTLD_DEEPBIND : 0));
		if (!handle)
			return dlerror();
		fn = (int (*)(void))dlsym(handle, "early_answer");
		if (!fn || fn() != 42 || dlclose(handle) != 0)
			return (void *)"it does not answer";
		take_and_free(100);
	}
	return NULL;
}

static void
try_libraries(char *name)
{
	pthread_t thread[4];
	void *failed;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, load_library, name);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &failed);
		ok(!failed, "dlopen and dlclose, with RTLD_DEEPBIND and without");
		if (failed)
			printf("#   %s\n", (char *)failed);
	}
}

int
main(int argc, char **argv)
{
	need_agent();
	try_forbidden();
	if (is_told(argc, argv, "past"))
		try_past();
	if (argc > 1)
		try_libraries(argv[1]);
	return tap_end();
}
