/*
 * Writes that are confined to a part of memory, at its bounds; the target is this program itself.
 */
#include <config.h>

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"
#include "os/part.h"
#include "os/target.h"
#include "tap.h"

static unsigned char memory[64];

static struct target self;

static bool
is_written(const struct os_part *part, size_t at, size_t size)
{
	static const unsigned char ones[sizeof memory] = { [0 ... sizeof memory - 1] = 1 };
	const raddr to = { (uintptr_t)memory + at };
	size_t nr = 0;
	struct err e = { 0 };
	bool is_done;

	memset(memory, 0, sizeof memory);
	is_done = os_part_write(&self, part, to, ones, size, &e) == 0;
	for (size_t i = 0; i < sizeof memory; i++)
		nr += memory[i];
	/* All of it, or nothing and the reason. */
	return is_done ? nr == size : (ok(nr == 0 && *e.msg, "a refusal changes nothing"), false);
}

int
main(void)
{
	const struct os_part part = { "its middle", { (uintptr_t)memory + 16 }, 32 };
	const struct os_part none = { "nothing", { 0 }, UINT64_MAX };
	const struct os_part last = { "the end of memory", { UINT64_MAX - 7 }, 8 };
	struct err e = { 0 };

	if (!ok(target_open(&self, getpid(), &e) == 0, "the test itself is the target %s", e.msg))
		return tap_end();
	ok(is_written(&part, 16, 32), "all of a part is written");
	ok(is_written(&part, 47, 1), "its last byte is written");
	ok(is_written(&part, 48, 0), "no bytes at its end are no error");
	ok(!is_written(&part, 15, 1), "the byte before it is refused");
	ok(!is_written(&part, 48, 1), "the byte behind it is refused");
	ok(!is_written(&part, 15, 33), "one that begins before it is refused");
	ok(!is_written(&part, 17, 32), "one that ends behind it is refused");
	ok(os_part_write(&self, &part, part.start, memory, SIZE_MAX, &e) < 0,
		"a size that wraps around is refused");
	ok(os_part_write(&self, &last, last.start, memory, 9, &e) < 0,
		"one that goes past the last address is refused");
	ok(!is_written(&none, 0, 1), "a part that was not found takes no writes");
	ok(os_part_poke(&self, &part, getpid(), (raddr){ (uintptr_t)memory }, memory, 8, &e) < 0 &&
			strstr(e.msg, "outside of its middle"),
		"code outside of a part is refused, and the part is named");
	target_release(&self);
	return tap_end();
}
