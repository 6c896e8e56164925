/*
 * The agent's own functions of string.h do as libc's do.
 */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* Its functions by other names, beside libc's. */
#define memcpy own_memcpy
#define memmove own_memmove
#define memset own_memset
#define strlen own_strlen
#define strcmp own_strcmp
#define strncmp own_strncmp
/* Macros since glibc 2.43. */
#undef strchr
#undef strrchr
#undef strstr
#define strchr own_strchr
#define strrchr own_strrchr
#define strspn own_strspn
#define strstr own_strstr
#define strcat own_strcat
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
size_t strspn(const char *s, const char *among);
char *strstr(const char *s, const char *wanted);
char *strcat(char *restrict to, const char *restrict from);
#include "agent/base/string.c"
#undef memcpy
#undef memmove
#undef memset
#undef strlen
#undef strcmp
#undef strncmp
#undef strchr
#undef strrchr
#undef strspn
#undef strstr
#undef strcat

#define ROOM 200
#define TIMES 200000

static unsigned char ours[ROOM], theirs[ROOM];
static unsigned int seed = 1;

static size_t
below(size_t n)
{
	return (size_t)rand_r(&seed) % n;
}

static bool
are_equal(void)
{
	return memcmp(ours, theirs, ROOM) == 0;
}

static bool
moves(void)
{
	for (int i = 0; i < TIMES; i++) {
		size_t size = below(ROOM / 2), to = below(ROOM - size), from = below(ROOM - size);
		int byte = (int)below(256) - 128;

		ours[from] = theirs[from] = (unsigned char)i;
		if (own_memmove(ours + to, ours + from, size) != ours + to)
			return false;
		memmove(theirs + to, theirs + from, size);
		if (!are_equal())
			return false;
		own_memset(ours + from, byte, size / 4);
		memset(theirs + from, byte, size / 4);
		if (!are_equal())
			return false;
	}
	return true;
}

static bool
copies(void)
{
	unsigned char from[ROOM];

	for (int i = 0; i < TIMES; i++) {
		size_t size = below(ROOM), at = below(ROOM - size);

		for (size_t k = 0; k < size; k++)
			from[k] = (unsigned char)below(256);
		if (own_memcpy(ours + at, from, size) != ours + at)
			return false;
		memcpy(theirs + at, from, size);
		if (!are_equal())
			return false;
	}
	return true;
}

/* A string of few letters, so that much is found. */
static void
any_string(char *to, size_t max)
{
	size_t len = below(max);

	for (size_t i = 0; i < len; i++)
		to[i] = "ab\xff"[below(3)];
	to[len] = '\0';
}

static bool
have_same_sign(int a, int b)
{
	return (a > 0) == (b > 0) && (a < 0) == (b < 0);
}

static bool
strings(void)
{
	char a[40], b[8], both[48], also[48];

	for (int i = 0; i < TIMES; i++) {
		size_t size = below(10);
		int c = "ab\xff"[below(4)];

		any_string(a, sizeof a);
		any_string(b, sizeof b);
		strcpy(both, a);
		strcpy(also, a);
		strcat(also, b);
		if (own_strlen(a) != strlen(a) || !have_same_sign(own_strcmp(a, b), strcmp(a, b)) ||
			!have_same_sign(own_strncmp(a, b, size), strncmp(a, b, size)) ||
			own_strchr(a, c) != strchr(a, c) || own_strrchr(a, c) != strrchr(a, c) ||
			own_strspn(a, b) != strspn(a, b) || own_strstr(a, b) != strstr(a, b) ||
			own_strcat(both, b) != both || strcmp(both, also) != 0)
			return false;
	}
	return true;
}

int
main(void)
{
	ok(copies(), "memory is copied");
	ok(moves(), "memory is moved and set");
	ok(strings(), "strings are measured, compared, searched and joined");
	return tap_end();
}
