/* Sizes, durations, bars, tables and JSON as they are written. */
#include <config.h>

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/table.h"
#include "ui/ui.h"
#include "ui/units.h"
#include "tap.h"

static char *memory;
static size_t memory_size;

static void
test_units(void)
{
	struct ui_options human = { 0 }, exact = { .bytes = true };
	char buf[32];

	is_str(ui_size(&human, 1288490189, buf, sizeof buf), "1.2 GiB", "a size");
	is_str(ui_size(&exact, 1288490189, buf, sizeof buf), "1288490189", "a size with -b");
	is_str(ui_size_change(&human, 1 << 20, buf, sizeof buf), "+1.0 MiB", "growth");
	is_str(ui_size_change(&human, -3072, buf, sizeof buf), "-3.0 KiB", "shrinking");
	is_str(ui_size_change(&human, 0, buf, sizeof buf), "0", "no change");
	is_str(ui_size_change(&exact, INT64_MIN, buf, sizeof buf), "-9223372036854775808",
		"the least number");
	is_str(ui_duration(850999, buf, sizeof buf), "850 us", "microseconds");
	is_str(ui_duration(12340000, buf, sizeof buf), "12.3 ms", "milliseconds");
	is_str(ui_duration(1200000000, buf, sizeof buf), "1.2 s", "seconds");
	is_str(ui_bar(0.5, 10, buf, sizeof buf), "#####", "half a bar");
	is_str(ui_bar(7, 3, buf, sizeof buf), "###", "a share above 1 is the whole bar");
	is_str(ui_bar(-1, 3, buf, sizeof buf), "", "below 0 none");
	is_str(ui_bar(NAN, 3, buf, sizeof buf), "", "nor is NaN one");
	is_str(ui_bar(1, 100, buf, 5), "####", "cut to fit");
}

static void
test_wrap(void)
{
	struct ui_output narrow = { .f = open_memstream(&memory, &memory_size), .columns = 12 };
	struct ui_output file;

	ui_wrap(&narrow, 4, "one  two three");
	ui_wrap(&narrow, 4, "incomprehensible, yes");
	ui_wrap(&narrow, 4, "exactly8 9");
	fclose(narrow.f);
	is_str(memory, "one two\n    three\nincomprehensible,\n    yes\nexactly8\n    9\n",
		"a narrow terminal breaks between words");
	free(memory);
	file = (struct ui_output){ .f = open_memstream(&memory, &memory_size) };
	ui_wrap(&file, 4, "one two three");
	fclose(file.f);
	is_str(memory, "one two three\n", "a file does not");
	free(memory);
}

static void
print_table(struct ui_output *o)
{
	auto_table struct ui_table *t = ui_table_new(o);
	struct err e = { 0 };

	ok(t && ui_table_column(t, "SIZE", true, &e) == 0 &&
			ui_table_column(t, "NAME", false, &e) == 0 && ui_table_row(t, &e) == 0 &&
			ui_table_cell(t, "7", &e) == 0 &&
			ui_table_cell(t, "a\033[31m\nb", &e) == 0 && ui_table_row(t, &e) == 0 &&
			ui_table_cell(t, "12345", &e) == 0 &&
			ui_table_cell(t, "one name that is longer than the terminal", &e) == 0 &&
			ui_table_print(t, &e) == 0,
		"a table is printed");
}

static void
test_table(void)
{
	struct ui_output o = { .f = open_memstream(&memory, &memory_size) };

	print_table(&o);
	fclose(o.f);
	is_str(memory,
		" SIZE  NAME\n    7  a\\033[31m\\012b\n"
		"12345  one name that is longer than the terminal\n",
		"numbers to the right, strange bytes shown, nothing cut");
	free(memory);
	o = (struct ui_output){
		.f = open_memstream(&memory, &memory_size), .is_terminal = true, .columns = 20
	};
	print_table(&o);
	fclose(o.f);
	is_str(memory,
		" SIZE  NAME\n    7  a\\033..m\\012b\n12345  one n"
		"..rminal\n",
		"on a terminal the text column is cut in the middle");
	free(memory);
}

static void
test_json(void)
{
	struct ui_output o = { .f = open_memstream(&memory, &memory_size) };
	struct err e = { 0 };
	json_t *document = ui_json_new("test", NULL), *data = json_object_get(document, "data");
	json_t *back;

	json_object_set_new(data, "z_bytes", ui_json_number(INT64_MAX - 1));
	json_object_set_new(data, "a", ui_json_address((raddr){ UINT64_MAX }));
	json_object_set_new(data, "name", ui_json_string("x\033\377\"y"));
	json_object_set_new(data, "byte", ui_json_string("\377"));
	json_object_set_new(data, "escape", ui_json_string("\\377"));
	json_object_set_new(data, "text", ui_json_text("\\377"));
	ui_json_warn(document, false, "only a %s", "note\n");
	ok(json_is_false(json_object_get(document, "partial")), "a warning alone is not partial");
	ui_json_warn(document, true, "half");
	ok(ui_json_print(document, &o, &e) == 0, "JSON is printed");
	fclose(o.f);
	json_decref(document);
	back = json_loads(memory, 0, NULL);
	ok(back != NULL, "and can be read back");
	is_str(json_string_value(json_object_get(back, "schema")), "memdiag.test/1", "schema");
	is_str(json_string_value(json_object_get(back, "memdiag")), PACKAGE_VERSION, "version");
	ok(json_is_null(json_object_get(back, "target")), "no target is null");
	ok(json_is_true(json_object_get(back, "partial")) &&
			json_array_size(json_object_get(back, "warnings")) == 2,
		"partial, two warnings");
	data = json_object_get(back, "data");
	is_u64((uint64_t)json_integer_value(json_object_get(data, "z_bytes")), INT64_MAX - 1,
		"a large size is exact");
	is_str(json_string_value(json_object_get(data, "a")), "0xffffffffffffffff", "an address");
	is_str(json_string_value(json_object_get(data, "name")), "x\\033\\377\"y",
		"a stranger's bytes");
	is_str(json_string_value(json_object_get(data, "byte")), "\\377",
		"a byte that is no character");
	is_str(json_string_value(json_object_get(data, "escape")), "\\\\377",
		"differs from a name that looks like its escape");
	is_str(json_string_value(json_object_get(data, "text")), "\\377",
		"text is not escaped again");
	ok(strstr(memory, "z_bytes") < strstr(memory, "\"a\""), "members keep their order");
	json_decref(back);
	free(memory);
}

int
main(void)
{
	test_units();
	test_wrap();
	test_table();
	test_json();
	return tap_end();
}
