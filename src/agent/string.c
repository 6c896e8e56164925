/*
 * string: what the agent needs of string.h, its own: libc's may not be there to be called, before ld.so has
 * come to us and in a static program, or may be those of somebody else, who has put his in front.
 */
#include <config.h>

#include <stdint.h>
#include <string.h>

/* The linker takes what is hidden for its own, whoever else has such a function. */
#pragma GCC visibility push(hidden)

/* In a loop: it is none that the compiler has a function for, which would be the one it is in. */
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

static void
copy_forward(unsigned char *to, const unsigned char *from, size_t size)
{
	size_t i = 0;

	if (((uintptr_t)to | (uintptr_t)from) % sizeof(uint64_t) == 0) {
		for (; size - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
			NO_FUNCTION;
			*(uint64_t *)(void *)(to + i) = *(const uint64_t *)(const void *)(from + i);
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
		*(uint64_t *)(void *)(to + size) = *(const uint64_t *)(const void *)(from + size);
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

/* ---- strings ---- */

static size_t
length(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		NO_FUNCTION;
	return n;
}

static int
compare(const char *a, const char *b, size_t size)
{
	size_t i = 0;

	for (; i < size && a[i] && a[i] == b[i]; i++)
		NO_FUNCTION;
	return i < size ? (unsigned char)a[i] - (unsigned char)b[i] : 0;
}

/* The first C in S, or its end. */
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
	return length(s);
}

int
strcmp(const char *a, const char *b)
{
	return compare(a, b, SIZE_MAX);
}

int
strncmp(const char *a, const char *b, size_t size)
{
	return compare(a, b, size);
}

char *
strchr(const char *s, int c)
{
	s = first(s, (char)c);
	return *s == (char)c ? (char *)(uintptr_t)s : NULL;
}

char *
strrchr(const char *s, int c)
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

char *
strstr(const char *s, const char *wanted)
{
	const size_t len = length(wanted);

	for (; *s; s++)
		if (compare(s, wanted, len) == 0)
			return (char *)(uintptr_t)s;
	return len ? NULL : (char *)(uintptr_t)s;
}

char *
strcat(char *restrict to, const char *restrict from)
{
	copy_forward((unsigned char *)to + length(to), (const unsigned char *)from, length(from) + 1);
	return to;
}

#pragma GCC visibility pop
