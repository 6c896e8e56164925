/*
 * string: the agent's own versions of functions in string.h. libc's cannot be called in a static
 * program or before ld.so has relocated the agent, and another library may override them.
 */
#include <config.h>

#include <stdint.h>
#include <string.h>

/*
 * The linker binds a hidden function to the agent, even if another object has a function of the
 * same name.
 */
#pragma GCC visibility push(hidden)

/*
 * Used in a loop, which the compiler would otherwise replace by a call of the function that
 * contains it.
 */
#define NO_FUNCTION __asm__ volatile("")

/* ---- memory ---- */

void *
memcpy(void *restrict to, const void *restrict from, size_t size)
{
#if defined __x86_64__
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
#else
	for (size_t i = 0; i < size; i++) {
		NO_FUNCTION;
		((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
	}
#endif
	return to;
}

/* Eight bytes of any type: a store through this type may change any object. */
typedef uint64_t __attribute__((may_alias)) any_word;

static void
copy_forward(unsigned char *to, const unsigned char *from, size_t size)
{
	size_t i = 0;

	if (((uintptr_t)to | (uintptr_t)from) % sizeof(uint64_t) == 0) {
		for (; size - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
			NO_FUNCTION;
			*(any_word *)(void *)(to + i) = *(const any_word *)(const void *)(from + i);
		}
	}
	for (; i < size; i++) {
		NO_FUNCTION;
		to[i] = from[i];
	}
}

static void
copy_backward(unsigned char *to, const unsigned char *from, size_t size)
{
	while (size && ((uintptr_t)to | (uintptr_t)from | size) % sizeof(uint64_t)) {
		NO_FUNCTION;
		size--;
		to[size] = from[size];
	}
	while (size) {
		NO_FUNCTION;
		size -= sizeof(uint64_t);
		*(any_word *)(void *)(to + size) = *(const any_word *)(const void *)(from + size);
	}
}

void *
memmove(void *to, const void *from, size_t size)
{
	if ((uintptr_t)to < (uintptr_t)from)
		copy_forward(to, from, size);
	else
		copy_backward(to, from, size);
	return to;
}

void *
memset(void *to, int byte, size_t size)
{
#if defined __x86_64__
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
#else
	for (size_t i = 0; i < size; i++) {
		NO_FUNCTION;
		((unsigned char *)to)[i] = (unsigned char)byte;
	}
#endif
	return to;
}

/*
 * ---- strings ----
 * Names are in brackets since glibc 2.43 also defines macros for them: C23's, whose results keep
 * const.
 */

static size_t
string_length(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		NO_FUNCTION;
	return n;
}

static int
string_compare(const char *a, const char *b, size_t size)
{
	size_t i = 0;

	for (; i < size && a[i] && a[i] == b[i]; i++)
		NO_FUNCTION;
	return i < size ? (unsigned char)a[i] - (unsigned char)b[i] : 0;
}

/* The first C in S, or the end of S. */
static const char *
first(const char *s, char c)
{
	for (; *s && *s != c; s++)
		NO_FUNCTION;
	return s;
}

size_t
strlen(const char *s)
{
	return string_length(s);
}

int
strcmp(const char *a, const char *b)
{
	return string_compare(a, b, SIZE_MAX);
}

int
strncmp(const char *a, const char *b, size_t size)
{
	return string_compare(a, b, size);
}

char *(strchr)(const char *s, int c)
{
	s = first(s, (char)c);
	return *s == (char)c ? (char *)(uintptr_t)s : NULL;
}

char *(strrchr)(const char *s, int c)
{
	const char *found = NULL;

	for (s = first(s, (char)c); *s; s = first(s + 1, (char)c))
		found = s;
	return (char *)(uintptr_t)(c ? found : s);
}

size_t
strspn(const char *s, const char *among)
{
	size_t n = 0;

	while (s[n] && *first(among, s[n]))
		n++;
	return n;
}

size_t
strcspn(const char *s, const char *among)
{
	size_t n = 0;

	while (s[n] && !*first(among, s[n]))
		n++;
	return n;
}

char *
strcpy(char *restrict to, const char *restrict from)
{
	copy_forward((unsigned char *)to, (const unsigned char *)from, string_length(from) + 1);
	return to;
}

char *(strstr)(const char *s, const char *wanted)
{
	const size_t len = string_length(wanted);

	for (; *s; s++)
		if (string_compare(s, wanted, len) == 0)
			return (char *)(uintptr_t)s;
	return len ? NULL : (char *)(uintptr_t)s;
}

char *
strcat(char *restrict to, const char *restrict from)
{
	copy_forward((unsigned char *)to + string_length(to), (const unsigned char *)from,
		string_length(from) + 1);
	return to;
}

#pragma GCC visibility pop
