/*
 * Whatever a file of memdiag watch has, it is refused with a reason, or each of its samples is
 * drawn in lines that fit and that move no cursor.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "watch/history.h"
#include "watch/page.h"
#include "watch/tape.h"

#define COLUMNS 60
#define ROWS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
draw_sample(struct watch_sample *s)
{
	const struct ui_options ui = { .bytes = false };
	auto_watch_history struct watch_history h = { 0 };
	struct err e = { 0 };

	if (watch_history_add(&h, s, &e) < 0)
		abort();
	for (int view = 0; view < NR_WATCH_VIEWS; view++) {
		auto_watch_lines struct watch_lines lines = { .columns = COLUMNS };
		struct watch_page page = { .view = (enum watch_view)view, .state = "saved" };

		if (watch_page_draw(&lines, &page, &h, ROWS, &ui, &e) < 0 || lines.nr > ROWS)
			abort();
		for (size_t i = 0; i < lines.nr; i++) {
			const char *line = lines.v[i].text;

			/* The locale is C: all else becomes "?". */
			if (strlen(line) > COLUMNS)
				abort();
			for (; *line; line++)
				if (*line < ' ' || *line > '~')
					abort();
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_watch_tape struct watch_tape tape = { 0 };
	auto_fd int fd = memfd_create("tape", MFD_CLOEXEC);
	char path[64];
	struct err e = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (watch_tape_open(&tape, path, &e) < 0) {
		if (!*e.msg)
			abort();
		return 0;
	}
	for (size_t i = 0; i < tape.at.nr; i++) {
		auto_watch_sample struct watch_sample s = { 0 };

		if (watch_tape_read(&s, &tape, i, &e) == 0)
			draw_sample(&s);
		else if (!*e.msg)
			abort();
	}
	return 0;
}
