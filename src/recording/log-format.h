/*
 * log-format: the records of a log file, for its writer and its reader.  doc/internals/log.md draws
 * them.
 *
 * A file is compressed by zstd, or plain if memdiag was built without libzstd.  It begins with a
 * line of text and a head; records follow.  Numbers are LEB128: seven bits in a byte, the low ones
 * first, and the highest bit set in all but the last.
 */
#ifndef MEMDIAG_RECORDING_LOG_FORMAT_H
#define MEMDIAG_RECORDING_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/event.h"

/*
 * The first line, which ends with the version.  Version 1 had no mappings, version 2 no
 * LOG_UNORDERED, and the order of threads was unknown within a tick of the clock.
 */
#define LOG_MAGIC "memdiag-log 3\n"
#define LOG_MAGIC_2 "memdiag-log 2\n"
#define LOG_MAGIC_1 "memdiag-log 1\n"
#define LOG_MAGIC_WORD "memdiag-log "
#define LOG_MAX_NAME_BYTES 256
#define LOG_MAX_MAPS_BYTES (UINT32_C(4) << 20)
/* Resolution of times in records, in nanoseconds: smaller steps are rounded down. */
#define LOG_TICK_NS UINT64_C(1000000)
#define LOG_MAX_TICKS (UINT64_C(1) << 43) /* 278 years */

/*
 * The first byte of a record.  An event gives its pair, a site and a number of bytes, by the pair's
 * slot in a dictionary, in one byte or two, or writes it out.  The kinds of events are those of
 * enum event_kind: allocated, freed, freed soon.  Events of mappings are written out.
 */
enum log_code {
	LOG_FIRST = 0x00,   /* + kind * 64 + slot: an event of the first dictionary */
	LOG_SECOND = 0xc0,  /* + kind * 16 + the slot's upper four bits: of the second; slot byte */
	LOG_WRITTEN = 0xf0, /* + kind: site, bytes */
	LOG_TIME = 0xf3,    /* ticks since the last time */
	LOG_MOMENT, /* RSS, dropped events, their bytes, frees of unknown blocks, their bytes */
	LOG_LIVE,   /* site, blocks, bytes: live before the first event of the file */
	LOG_NODE,   /* number, parent, address less that of the last node, as LOG_NODE */
	LOG_SITE,   /* number, node; 0: stack unknown */
	LOG_MAPS,   /* bytes, text */
	LOG_MAPPED, /* + kind - EVENT_MAPPED, four of them: site, bytes */
	LOG_LIVE_MAPPED = LOG_MAPPED + 4, /* as LOG_LIVE, for a site with mappings */
	/*
	 * Events with an unknown order relative to those of other threads, and their bytes: since
	 * the last moment, which is 50 ms ago, and in all.  Omitted if both are 0.
	 */
	LOG_UNORDERED,
	LOG_END = 0xff, /* events in the file, 1: the log ends, 0: another file follows */
};

_Static_assert(EVENT_ALLOCATED == 0 && EVENT_FREED == 1 && EVENT_FREED_SOON == 2 &&
		EVENT_GROWN == EVENT_MAPPED + 1 && EVENT_UNMAPPED == EVENT_MAPPED + 2 &&
		EVENT_SHRUNK == EVENT_MAPPED + 3,
	"files of logs have these numbers");

#define LOG_FIRST_SLOTS 64
#define LOG_SECOND_SLOTS 4096
/* No record but LOG_MAPS is longer; events are at most half of it. */
#define LOG_MAX_RECORD_BYTES 64

/* ---- numbers ---- */

static inline uint8_t *
log_put(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

/* Read a number; false if it does not end before END, or has more than 64 bits. */
static inline bool
log_get(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; *at < end && shift < 64; shift += 7) {
		const uint8_t byte = *(*at)++;

		if (shift == 63 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

/* Encode a signed difference as a number that is small if it is near zero, on either side. */
static inline uint64_t
log_fold(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t
log_unfold(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

/* ---- the dictionaries ---- */

struct log_pair {
	uint64_t bytes;
	uint32_t site;
	uint32_t is_used;
};

/*
 * The pairs of the last events, empty where a file begins.  A pair has one slot in the second
 * dictionary, and in the first the slot with the same lower bits; each event stores its pair in
 * both, replacing their contents.
 */
struct log_pairs {
	struct log_pair first[LOG_FIRST_SLOTS];
	struct log_pair second[LOG_SECOND_SLOTS];
};

static inline uint32_t
log_slot(uint32_t site, uint64_t bytes)
{
	const uint64_t mixed =
		(bytes + site * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);

	return (uint32_t)(mixed >> 32) % LOG_SECOND_SLOTS;
}

#endif
