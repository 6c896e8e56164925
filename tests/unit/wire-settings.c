/*
 * Settings of the agent: what memdiag writes the agent reads, and nothing else changes them.
 */
#include <config.h>

#include "tap.h"
#include "wire/settings.h"
#include "wire/wire.h"

static const struct wire_settings defaults = { .limit_bytes = INT64_MAX, .interval_ms = 5000 };

static struct wire_settings
read_text(const char *text)
{
	struct wire_settings s = defaults;

	wire_settings_read(&s, text);
	return s;
}

static const char *
written(const struct wire_settings *s)
{
	static char text[256];

	return wire_settings_write(s, text, sizeof text) ? text : "(does not fit)";
}

static void
test_words(void)
{
	struct wire_settings s =
		read_text("pid=42;account=requested;segment=/proc/9/fd/3;family=/f;"
			  "limit=1000;on-limit=signal;interval=250;follow;file=/a;pid=7");

	is_u64(s.pid, 42, "pid");
	is_u64(s.account, WIRE_REQUESTED, "account");
	is_u64((uint64_t)s.limit_bytes, 1000, "limit");
	is_u64(s.on_limit, WIRE_SIGNAL, "on-limit");
	ok(s.prints, "an interval prints");
	is_u64(s.interval_ms, 250, "interval");
	ok(s.follows, "follow");
	s = read_text("profile;count;rate=512K;sites=/s;profile-prefix=/tmp/a b;high-water;"
		      "profile-interval=3G;above=7M;threshold=0");
	ok(s.profiles && s.counts && s.high_water, "profile, count, high-water");
	is_u64(s.rate_bytes, 512 << 10, "a size in K");
	is_u64(s.dump_interval_bytes, UINT64_C(3) << 30, "in G");
	is_u64(s.above_bytes, 7 << 20, "in M");
	is_u64(s.threshold_bytes, 0, "without a unit");
	s = read_text("");
	ok(!s.profiles && !s.counts && !s.high_water, "and none of them without its word");
	s = read_text("pid=42;account=requested;segment=/proc/9/fd/3;family=/f;"
		      "limit=1000;on-limit=signal;interval=250;follow;file=/a;pid=7");
	is_str(s.file, "/a;pid=7", "a file's name is all that follows");
}

static void
test_paths(void)
{
	struct wire_settings s = read_text("segment=/proc/9/fd/3;family=/f");
	char path[13];

	wire_path(path, sizeof path, s.segment);
	is_str(path, "/proc/9/fd/3", "a path ends at the semicolon");
	wire_path(path, sizeof path, s.family);
	is_str(path, "/f", "or at the end");
	wire_path(path, 4, s.segment);
	is_str(path, "/pr", "or where there is no more room");
}

static void
test_round_trip(void)
{
	static const char all[] = "pid=1;account=requested;segment=/s;family=/f;limit=1;"
				  "on-limit=report;interval=0;follow;file=x;y";
	static const char *const texts[] = {
		"account=requested",
		"profile;record;log=4096;live-set=table;max-overhead=8388608",
		"count;profile;rate=1024;profile-interval=1;high-water;above=2;threshold=3",
		"pid=18446744073709551615;limit=0;on-limit=enomem",
		all,
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct wire_settings s = read_text(texts[i]);
		struct wire_settings paths = s;
		char segment[64];

		/* They point into the text, up to the next semicolon. */
		if (s.segment) {
			wire_path(segment, sizeof segment, s.segment);
			paths.segment = segment;
			paths.family = "/f";
		}
		is_str(written(&paths), texts[i], "what was read is written again");
	}
	is_str(written(&defaults), "", "where nothing is asked nothing is said");
}

static void
test_nonsense(void)
{
	static const char *const texts[] = { "", ";;;", "limit", "limit=", "limit=-1", "limit=1x",
		"limit=18446744073709551616", "limits=1", "imit=1", "=1", "on-limit=exi",
		"on-limit=exits", "account=REQUESTED", "pid=;limit=;", "colour=blue;size=7",
		"xfollow", "follows", "rate=K", "rate=1T", "rate=1KK", "rate=-1",
		"rate=", "rate=17179869184G", "profiles", "xcount" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct wire_settings s = read_text(texts[i]);

		is_str(written(&s), "", *texts[i] ? texts[i] : "an empty text");
	}
	is_u64((uint64_t)read_text("colour=blue;limit=7").limit_bytes, 7, "behind an unknown word");
	is_u64((uint64_t)read_text("limit=9223372036854775808").limit_bytes, INT64_MAX,
		"more than there can be is no limit");
	ok(!read_text("interval=5;interval=x").prints, "an invalid interval prints nothing");
}

static void
test_room(void)
{
	const struct wire_settings s = read_text("pid=42;limit=1000");
	char text[18] = "";

	ok(wire_settings_write(&s, text, 18), "what just fits");
	is_str(text, "pid=42;limit=1000", "is there");
	ok(!wire_settings_write(&s, text, 17), "what does not quite fit");
	ok(!wire_settings_write(&s, text, 0), "no room at all");
}

int
main(void)
{
	test_words();
	test_paths();
	test_round_trip();
	test_nonsense();
	test_room();
	return tap_end();
}
