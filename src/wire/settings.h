/*
 * settings: the agent's settings as text.
 */
#ifndef MEMDIAG_WIRE_SETTINGS_H
#define MEMDIAG_WIRE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_settings {
	uint64_t pid;	     /* "pid": the process for which the other words are; 0: not given */
	const char *segment; /* "segment": the file to use, up to a ';'; NULL: a new one */
	const char *family;  /* "family": the file of all processes, up to a ';'; NULL: no file */
	/* "file": NULL, or the name of a file to keep, to which ".PID" is appended */
	const char *file;
	int64_t limit_bytes;   /* "limit"; INT64_MAX: unlimited */
	uint64_t interval_ms;  /* "interval": period of the line on stderr; only with prints */
	unsigned int account;  /* "account": enum wire_account, by name */
	unsigned int on_limit; /* "on-limit": enum wire_on_limit, by name */
	bool prints;
	bool follows; /* "follow": also count processes that this one starts */
	bool counts;  /* "count": count while samples are taken; otherwise samples only */
	/* Samples: */
	bool profiles;	       /* "profile": from the first call on; the words below apply to it */
	bool records;	       /* "record": record all blocks instead of samples; with profiles */
	uint64_t log_blocks;   /* "log": blocks of a log, open from the first call; with records */
	unsigned int live_set; /* "live-set": enum wire_live_set, by name; with records */
	uint64_t max_bytes;    /* "max-overhead": memory of a record; 0: unlimited */
	uint64_t rate_bytes;   /* "rate": average distance of samples; 512K, 4M, 1G */
	const char *sites;     /* "sites": struct wire_profiles for the sites; NULL: not given */
	const char *prefix;    /* "profile-prefix": for names of .heap files, up to a ';' */
	bool high_water;       /* "high-water" */
	/* "profile-interval", "above", "threshold": as in struct wire_triggers */
	uint64_t dump_interval_bytes, above_bytes, threshold_bytes;
};

/*
 * Read TEXT; S points into it afterwards.  A missing word leaves the value in S unchanged; unknown
 * words and invalid values are ignored.
 */
void wire_settings_read(struct wire_settings *s, const char *text);
/*
 * Write S as text, from which wire_settings_read() reads S again.  False if it does not fit the
 * SIZE bytes of BUF.
 */
bool wire_settings_write(const struct wire_settings *s, char *buf, size_t size);

/* Copy PATH, a member of S that ends at a ';', truncated to SIZE. */
void wire_path(char *buf, size_t size, const char *path);

/*
 * Read decimal digits that end at END or NUL.  False if TEXT has another form; *RET is then
 * unchanged.
 */
bool wire_number(const char *text, char end, uint64_t *ret);
/* N as a limit in bytes; INT64_MAX, unlimited, if N is larger. */
int64_t wire_limit(uint64_t n);

#endif
