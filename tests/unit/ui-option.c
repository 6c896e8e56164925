/*
 * Tables of options that are made at random, and command lines for them: what the parser makes of
 * each is compared with what the line was made from.  FIRST-SEED [NUMBER] tries others.
 */
#include <config.h>

#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seeds.h"
#include "ui/exit.h"
#include "ui/options.h"
#include "ui/ui.h"
#include "ui/units.h"

#define MAX_ROWS 12
#define MAX_GIVEN 8
#define LINES 12

/* A member of each type for each row. */
struct values {
	struct value {
		uint64_t big;
		uint32_t small;
		bool flag;
		const char *string;
		bool is_given;
	} row[MAX_ROWS];
	int nr_set;   /* how often a function was called that rows name */
	int nr_words; /* bare ones, but the child's */
};

/* In the process that parses: the calls of functions that rows name, and the child's words. */
static int nr_called, nr_words_of_child;

#define AT(i, member)                                                                              \
	(offsetof(struct values, row) + (i) * sizeof(struct value) + offsetof(struct value, member))

/* Names of which some begin others, so that they may be cut to an ambiguous one. */
static const char *const names[] = { "max", "max-lock", "max-stop", "max-stop-ms", "min-size",
	"lines", "limit", "limit-total", "sort", "format", "from", "follow", "mode", "thread",
	"threads", "record", "x" };
#define NR_NAMES (sizeof names / sizeof *names)
static const char letters[] = "abcdeghijklnpqrstuvwyz";
static const char *const words[] = { "auto", "helper", "own", "in-use", "mapped",
	"mapped-allocated", "a", "b c", NULL };

static struct ui_option rows[2][MAX_ROWS + 1]; /* of the command and of its child */
static size_t nr_rows, nr_own;
static char *text[MAX_GIVEN * 2 + 4]; /* the command line */
static int nr_text;
static struct values want;
static int nr_childs_words;
static char want_error[200]; /* what it must say; "": none */
static size_t rule_rows[2][2];

static struct ui_option *
row_at(size_t i)
{
	return i < nr_own ? &rows[0][i] : &rows[1][i - nr_own];
}

/* ---- tables ---- */

static void
count_call(struct argp_state *s, const struct ui_option *o, void *input, char *arg)
{
	(void)s, (void)o, (void)input, (void)arg;
	nr_called++;
}

static void
make_row(size_t i, const char *name, char letter)
{
	static const enum ui_option_kind kinds[] = { UI_FLAG, UI_VALUE, UI_BITS, UI_TIMES,
		UI_NUMBER, UI_SIZE, UI_DURATION, UI_WORD, UI_ADDRESS, UI_STRING };
	const enum ui_option_kind kind = kinds[some(sizeof kinds / sizeof *kinds)];
	const size_t base = i < nr_own ? 0 : AT(nr_own, big); /* of the input */
	const bool is_small = kind == UI_BITS || kind == UI_TIMES || kind == UI_WORD ||
		(kind == UI_NUMBER && some(2));
	struct ui_option *o = row_at(i);

	*o = (struct ui_option){ .name = name, .letter = letter, .kind = kind, .help = "Do it." };
	if (kind >= UI_NUMBER) {
		o->arg = "ARG";
		o->may_lack_arg = some(5) == 0;
	}
	o->at = kind == UI_FLAG	    ? AT(i, flag)
		: kind == UI_STRING ? AT(i, string)
		: is_small	    ? AT(i, small)
				    : AT(i, big);
	o->at -= base;
	o->size = kind == UI_FLAG ? sizeof(bool) : is_small ? sizeof(uint32_t) : sizeof(uint64_t);
	o->given = some(2) ? AT(i, is_given) - base + 1 : 0;
	o->value = kind == UI_BITS ? 1U << some(20) : some(1000);
	o->words = kind == UI_WORD ? words : NULL;
	o->set = some(3) ? NULL : count_call;
	if ((kind == UI_NUMBER || kind == UI_SIZE || kind == UI_DURATION) && some(2)) {
		o->least = some(2000);
		o->most = some(3) ? o->least + some(UINT64_C(1) << (10 + some(20))) : 0;
		o->beyond = "is out of bounds";
	}
	if (kind == UI_NUMBER && !is_small)
		o->scale = some(2) ? 0 : 1000000;
	if (o->size == sizeof(uint64_t) && kind != UI_STRING && kind != UI_VALUE && some(3) == 0)
		o->preset = 1 + some(1000000);
	if (kind == UI_BITS)
		o->preset = 1U << some(20);
	if (kind == UI_WORD && some(2))
		o->wrong = some(2) ? "is wrong: say " : "is wrong";
}

static void
make_table(void)
{
	size_t first_name = some(NR_NAMES), first_letter = some(sizeof letters - 1);

	memset(rows, 0, sizeof rows);
	nr_rows = 1 + some(MAX_ROWS);
	nr_own = some(nr_rows + 1);
	for (size_t i = 0; i < nr_rows; i++)
		make_row(i, names[(first_name + i) % NR_NAMES],
			some(2) ? letters[(first_letter + i) % (sizeof letters - 1)] : '\0');
}

/* ---- arguments, with what they mean ---- */

struct meaning {
	char text[64];
	bool is_wrong; /* in form */
	uint64_t value;
};

static void
make_number(struct meaning *m)
{
	m->value = some(3) ? some(5000) : some(UINT64_C(1) << 31);
	snprintf(m->text, sizeof m->text, "%" PRIu64, m->value);
}

/* A number with a unit; halves and quarters are exact in each. */
static void
make_with_unit(struct meaning *m, const char *const *units, const uint64_t *factors, size_t nr)
{
	static const char *const parts[] = { "", ".0", ".5", ".25" };
	const size_t unit = some(nr), part = factors[unit] % 4 ? 0 : some(4);
	const uint64_t n = some(3000);

	m->value = n * factors[unit] + (part < 2 ? 0 : factors[unit] / (part == 2 ? 2 : 4));
	snprintf(m->text, sizeof m->text, "%" PRIu64 "%s%s", n, parts[part], units[unit]);
}

static void
make_size(struct meaning *m)
{
	static const char *const units[] = { "", "B", "K", "KB", "KiB", "k", "M", "MB", "MiB",
		"mib", "G", "GB", "GiB", "T", "TB", "TiB", "t" };
	static const uint64_t factors[] = { 1, 1, 1 << 10, 1 << 10, 1 << 10, 1 << 10, 1 << 20,
		1 << 20, 1 << 20, 1 << 20, 1 << 30, 1 << 30, 1 << 30, UINT64_C(1) << 40,
		UINT64_C(1) << 40, UINT64_C(1) << 40, UINT64_C(1) << 40 };

	make_with_unit(m, units, factors, sizeof units / sizeof *units);
}

static void
make_duration(struct meaning *m)
{
	static const char *const units[] = { "", "s", "ms", "us", "m", "h", "S" };
	static const uint64_t factors[] = { 1000000000, 1000000000, 1000000, 1000,
		UINT64_C(60000000000), UINT64_C(3600000000000), 1000000000 };

	make_with_unit(m, units, factors, sizeof units / sizeof *units);
}

/* A number at the bounds of O, or next to them, or the greatest of all; without a unit. */
static void
make_bound(struct meaning *m, const struct ui_option *o)
{
	const uint64_t bounds[] = { o->least, o->least ? o->least - 1 : 0, o->most, o->most + 1,
		INT32_MAX };

	m->value = bounds[some(o->most ? 5 : 2)];
	if (o->kind == UI_NUMBER && some(10) == 0)
		m->value = INT32_MAX;
	snprintf(m->text, sizeof m->text, "%" PRIu64, m->value);
}

static void
make_wrong(struct meaning *m, enum ui_option_kind kind)
{
	static const char *const no_number[] = { "", "x", "-1", "+1", " 1", "1 ", "0x10",
		"2147483648", "99999999999999999999", "1K", "1.5", "1,2" };
	static const char *const no_size[] = { "", "x", "-1", " 1", "1 K", "1Q", "0x10", "inf",
		"nan", "9e30", "99999999T", "1s", "K", "1KK" };
	static const char *const no_duration[] = { "", "x", "-1", " 1", "1 s", "5K", "0X1", "inf",
		"1e30", "ms", "1mss", "1d" };
	static const char *const no_address[] = { "", "x", "-1", " 1", "1-2", "12345678123456781",
		"g", "+1" };
	static const char *const no_word[] = { "", "aut", "autos", "AUTO", "own ", "mapped-", "b" };
#define ONE_OF(list) (list)[some(sizeof(list) / sizeof *(list))]

	m->is_wrong = true;
	snprintf(m->text, sizeof m->text, "%s",
		kind == UI_NUMBER	      ? ONE_OF(no_number)
			: kind == UI_SIZE     ? ONE_OF(no_size)
			: kind == UI_DURATION ? ONE_OF(no_duration)
			: kind == UI_ADDRESS  ? ONE_OF(no_address)
					      : ONE_OF(no_word));
}

static struct meaning
make_argument(const struct ui_option *o)
{
	struct meaning m = { .is_wrong = false };

	if (o->kind == UI_STRING) {
		snprintf(m.text, sizeof m.text, "s%u", (unsigned int)some(100));
		return m;
	}
	if (some(12) == 0) {
		make_wrong(&m, o->kind);
		return m;
	}
	if ((o->kind == UI_NUMBER || o->kind == UI_SIZE) && some(3) == 0) {
		make_bound(&m, o);
		return m;
	}
	switch (o->kind) {
	case UI_NUMBER:
		make_number(&m);
		break;
	case UI_SIZE:
		make_size(&m);
		break;
	case UI_DURATION:
		make_duration(&m);
		break;
	case UI_ADDRESS:
		m.value = some(UINT64_C(1) << 31) << some(17);
		snprintf(m.text, sizeof m.text, "%s%" PRIx64, some(2) ? "0x" : "", m.value);
		break;
	default:
		m.value = some(sizeof words / sizeof *words - 1);
		snprintf(m.text, sizeof m.text, "%s", words[m.value]);
	}
	return m;
}

/* ---- what is expected ---- */

/* The first error ends all. */
static void __attribute__((format(printf, 1, 2))) expect(const char *fmt, ...)
{
	__builtin_va_list ap;

	if (*want_error)
		return;
	__builtin_va_start(ap, fmt);
	vsnprintf(want_error, sizeof want_error, fmt, ap);
	__builtin_va_end(ap);
}

static void
expect_stored(size_t i, const struct ui_option *o, const struct meaning *m, const char *arg)
{
	struct value *v = &want.row[i];

	switch (o->kind) {
	case UI_FLAG:
		v->flag = true;
		break;
	case UI_VALUE:
		v->big = o->value;
		break;
	case UI_BITS:
		v->small |= (uint32_t)o->value;
		break;
	case UI_TIMES:
		v->small++;
		break;
	case UI_STRING:
		if (arg)
			v->string = arg;
		break;
	default:
		if (!arg)
			break;
		if (o->size == sizeof v->small)
			v->small = (uint32_t)m->value;
		else
			v->big = m->value * (o->scale ? o->scale : 1);
	}
	v->is_given |= o->given != 0;
	want.nr_set += o->set != NULL;
}

static void
expect_option(size_t i, const struct ui_option *o, const struct meaning *m, const char *arg)
{
	static const char *const kinds[] = {
		[UI_NUMBER] = "is not a number",
		[UI_SIZE] = "is not a size",
		[UI_DURATION] = "is not a duration",
		[UI_ADDRESS] = "is not an address",
		[UI_WORD] = "is not auto, helper, own, in-use, mapped, mapped-allocated, a or b c",
	};

	if (*want_error)
		return;
	if (arg && m->is_wrong)
		expect("'%s' %s%s", m->text, o->wrong ? o->wrong : kinds[o->kind],
			o->wrong && strchr(o->wrong, ':')
				? "auto, helper, own, in-use, mapped, mapped-allocated, a or b c"
				: "");
	else if (arg && (m->value < o->least || (o->most && m->value > o->most)))
		expect("'%s' is out of bounds", m->text);
	else
		expect_stored(i, o, m, arg);
}

/* As getopt_long() does: a name in whole, or the beginning of one alone.  -1: none, -2: several. */
static int
find_name(const char *name, size_t len)
{
	int found = -1;

	for (size_t i = 0; i < nr_rows; i++) {
		if (strncmp(row_at(i)->name, name, len) != 0)
			continue;
		if (!row_at(i)->name[len])
			return (int)i;
		found = found == -1 ? (int)i : -2;
	}
	return found;
}

/* ---- command lines ---- */

static char *
add_text(const char *a, const char *b, const char *c)
{
	if (asprintf(&text[nr_text], "%s%s%s", a, b, c) < 0)
		exit(99);
	return text[nr_text++];
}

static void
give_letter(size_t i)
{
	const struct ui_option *o = row_at(i);
	const char letter[] = { '-', o->letter, '\0' };
	const struct meaning m = make_argument(o);
	const char *arg;

	if (!o->arg || (o->may_lack_arg && some(2))) {
		add_text(letter, "", "");
		expect_option(i, o, &m, NULL);
	} else if (o->may_lack_arg || (some(2) && *m.text)) {
		arg = add_text(letter, m.text, "") + 2;
		/* without "=" there is no empty argument */
		expect_option(i, o, &m, *arg ? arg : NULL);
	} else {
		add_text(letter, "", "");
		expect_option(i, o, &m, add_text(m.text, "", ""));
	}
}

/* The first LEN bytes of the name of row TYPED, which may mean another one. */
static void
give_name(size_t typed, size_t len)
{
	const int found = find_name(row_at(typed)->name, len);
	const struct ui_option *o = row_at(found < 0 ? typed : (size_t)found);
	const struct meaning m = make_argument(o);
	char name[64];

	snprintf(name, sizeof name, "--%.*s", (int)len, row_at(typed)->name);
	if (found == -2) {
		add_text(name, "", "");
		expect("option '%s' is ambiguous", name);
	} else if (!o->arg && some(8) == 0) {
		add_text(name, "=", "x");
		expect("option '--%s' doesn't allow an argument", o->name);
	} else if (!o->arg || (o->may_lack_arg && some(2))) {
		add_text(name, "", "");
		expect_option((size_t)found, o, &m, NULL);
	} else if (o->may_lack_arg || some(2)) {
		expect_option((size_t)found, o, &m, add_text(name, "=", m.text) + len + 3);
	} else {
		add_text(name, "", "");
		expect_option((size_t)found, o, &m, add_text(m.text, "", ""));
	}
}

static void
give_any(void)
{
	const size_t i = some(nr_rows), whole = strlen(row_at(i)->name);

	if (some(20) == 0) {
		add_text("--", "unknown", "");
		expect("unrecognized option '--unknown'");
	} else if (row_at(i)->letter && some(2)) {
		give_letter(i);
	} else {
		give_name(i, some(3) ? whole : 1 + some(whole));
	}
}

/* As the last one: an option whose argument is missing. */
static void
give_half(void)
{
	const size_t i = some(nr_rows);
	const struct ui_option *o = row_at(i);

	if (!o->arg || o->may_lack_arg)
		return;
	if (o->letter && some(2)) {
		add_text("-", (const char[]){ o->letter, '\0' }, "");
		expect("option requires an argument -- '%c'", o->letter);
	} else {
		add_text("--", o->name, "");
		expect("option '--%s' requires an argument", o->name);
	}
}

/* ---- both ---- */

static struct ui_rule rules[3];
static struct ui_child children[2];
static struct ui_syntax child, root;

static bool
is_set(size_t i)
{
	const struct value *v = &want.row[i];

	return v->big || v->small || v->flag || v->string || v->is_given;
}

static bool
is_broken(enum ui_rule_kind kind, bool a, bool b)
{
	if (kind == UI_WANTS)
		return !(a || b);
	return kind == UI_NEEDS ? a && !b : a && b;
}

/* Words that begin with c are the child's. */
static error_t
take_word(struct argp_state *s, void *input, char *arg)
{
	(void)s;
	if (*arg == 'c')
		return ARGP_ERR_UNKNOWN;
	((struct values *)input)->nr_words++;
	return 0;
}

static error_t
take_childs_word(struct argp_state *s, void *input, char *arg)
{
	(void)s, (void)input, (void)arg;
	nr_words_of_child++;
	return 0;
}

static void
make_rules(void)
{
	const char *const sentences[] = { "the first rule", "the second rule" };

	memset(rules, 0, sizeof rules);
	for (size_t i = 0; i < 2 && some(3) == 0; i++) {
		const size_t a = some(nr_rows), b = some(nr_rows);

		rules[i] = (struct ui_rule){ (enum ui_rule_kind)(1 + some(3)),
			{ AT(a, big), sizeof(struct value) }, { AT(b, big), sizeof(struct value) },
			sentences[i] };
		rule_rows[i][0] = a;
		rule_rows[i][1] = b;
	}
}

static void
make_syntax(void)
{
	make_table();
	make_rules();
	children[0] = (struct ui_child){ &child, AT(nr_own, big) };
	child = (struct ui_syntax){ .options = rows[1], .argument = take_childs_word };
	root = (struct ui_syntax){
		.options = rows[0], .rules = rules, .children = children, .argument = take_word
	};
}

static void
make_line(void)
{
	const size_t nr = some(MAX_GIVEN);

	memset(&want, 0, sizeof want);
	*want_error = '\0';
	nr_text = 0;
	nr_childs_words = 0;
	add_text("memdiag test", "", "");
	for (size_t i = 0; i < nr_rows; i++)
		if (row_at(i)->size == sizeof(uint32_t))
			want.row[i].small = (uint32_t)row_at(i)->preset;
		else
			want.row[i].big = row_at(i)->preset;
	for (size_t i = 0; i < nr; i++) {
		if (some(8)) {
			give_any();
		} else {
			const bool is_childs = some(2);

			add_text(is_childs ? "child" : "word", "", "");
			*(is_childs ? &nr_childs_words : &want.nr_words) += 1;
		}
	}
	if (some(10) == 0)
		give_half();
	text[nr_text] = NULL;
	for (size_t i = 0; rules[i].kind; i++)
		if (is_broken(rules[i].kind, is_set(rule_rows[i][0]), is_set(rule_rows[i][1])))
			expect("%s", rules[i].why);
}

static bool
is_same(const struct values *got)
{
	for (size_t i = 0; i < nr_rows; i++) {
		const struct value *a = &got->row[i], *b = &want.row[i];

		if (a->big != b->big || a->small != b->small || a->flag != b->flag ||
			a->string != b->string || a->is_given != b->is_given) {
			fprintf(stderr,
				"--%s: got %" PRIu64 " %u %d %s %d, want %" PRIu64 " %u %d %s %d\n",
				row_at(i)->name, a->big, a->small, a->flag,
				a->string ? a->string : "-", a->is_given, b->big, b->small, b->flag,
				b->string ? b->string : "-", b->is_given);
			return false;
		}
	}
	return got->nr_words == want.nr_words && nr_words_of_child == nr_childs_words &&
		nr_called == want.nr_set;
}

/* Parse the line in a child, which compares; its exit status, with what it printed in SAID. */
static int
parse_in_child(char *said, size_t size)
{
	int fd[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd) < 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		struct values got = { .nr_words = 0 };

		dup2(fd[1], STDERR_FILENO);
		close(fd[0]);
		close(fd[1]);
		ui_parse(&root, nr_text, text, &got);
		exit(is_same(&got) ? 0 : 99);
	}
	close(fd[1]);
	while ((n = read(fd[0], said + len, size - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	close(fd[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
try_line(void)
{
	char said[2048], line[600] = "", begin[260];
	int status;

	make_line();
	for (int i = 1; i < nr_text; i++)
		snprintf(line + strlen(line), sizeof line - strlen(line), " '%s'", text[i]);
	status = parse_in_child(said, sizeof said);
	for (int i = 0; i < nr_text; i++)
		free(text[i]);
	snprintf(begin, sizeof begin, "memdiag test: %s", want_error);
	if (*want_error ? status == UI_USAGE && strncmp(said, begin, strlen(begin)) == 0
			: status == 0 && !*said)
		return true;
	return FAIL("%.500s: status %d, '%.200s'; want '%s'", line, status, said, want_error);
}

static bool
try_table(void)
{
	make_syntax();
	for (int i = 0; i < LINES; i++)
		if (!try_line())
			return false;
	return true;
}

/* ---- what else the rows are for ---- */

static const char *
formats(size_t i)
{
	static const char *const list[] = { "text", "json", "heap" };

	return i < 3 ? list[i] : NULL;
}

static const char *
notes(size_t i)
{
	return i == 1 ? "as lines" : NULL;
}

static const struct ui_option listed_rows[] = {
	{ .group = 1, .help = "Heading:" },
	{ "sort", 's', "KEY", 1, "by a (default), {other words}", UI_WORD, .words = words },
	{ "format", 0, "FORMAT", 1, "write {words}, or {also}", UI_WORD, .word = formats,
		.also = formats, .note = notes },
	{ "hidden", 0, "N", 1, NULL, UI_NUMBER },
	{ "file", 'f', "FILE", 1, "read FILE", UI_FILE, .may_lack_arg = true },
	{ 0 },
};

static const struct ui_option inner_rows[] = {
	{ "force", 'f', NULL, 1, "by force", UI_FLAG },
	{ 0 },
};

static const struct ui_syntax inner = { .options = inner_rows };
static const struct ui_child inner_children[] = { { &inner, 0 }, { 0 } };
static const struct ui_syntax listed = { .options = listed_rows, .children = inner_children };

static void
test_list(void)
{
	char *list = NULL;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	if (!f)
		exit(99);
	ui_option_list(&listed, f);
	fclose(f);
	is_str(list,
		"-s word auto helper own in-use mapped mapped-allocated a b c\n"
		"--sort word auto helper own in-use mapped mapped-allocated a b c\n"
		"--format word text json heap\n"
		"-f file?\n--file file?\n--force flag\n",
		"the list has each spelling that has a meaning, its kind and its words");
	free(list);
	ok(ui_option_find(&listed, "-f") == &listed_rows[4], "a letter means the parent's option");
	ok(ui_option_find(&listed, "--force") == &inner_rows[0], "a child's option is found");
	ok(ui_option_find(&listed, "--hidden") == &listed_rows[3], "a hidden option is found");
	ok(!ui_option_find(&listed, "--for") && !ui_option_find(&listed, "-fs") &&
			!ui_option_find(&listed, "file") && !ui_option_find(&listed, "-"),
		"what is no whole spelling is not found");
}

/* --help of these options, with blanks where lines are broken. */
static void
test_help(void)
{
	static char name[] = "memdiag test", help[] = "--help";
	char *argv[] = { name, help, NULL }, said[4096];
	static const struct ui_child both[] = { { &listed, 0 }, { &ui_output_syntax, 0 }, { 0 } };
	static const struct ui_syntax all = { .children = both };
	size_t len = 0, kept = 0;
	int fd[2];
	ssize_t n;

	fflush(stdout);
	if (pipe(fd) < 0)
		exit(99);
	if (fork() == 0) {
		struct ui_options o = { .json = false };

		dup2(fd[1], STDOUT_FILENO);
		ui_parse(&all, 2, argv, &o);
		exit(99);
	}
	close(fd[1]);
	while ((n = read(fd[0], said + len, sizeof said - 1 - len)) > 0)
		len += (size_t)n;
	close(fd[0]);
	wait(NULL);
	for (size_t i = 0; i < len; i++) {
		const char c = said[i] == '\n' ? ' ' : said[i];

		if (c != ' ' || !kept || said[kept - 1] != ' ')
			said[kept++] = c;
	}
	said[kept] = '\0';
	ok(strstr(said,
		   "by a (default), helper, own, in-use, mapped, mapped-allocated, a or b c") !=
			NULL,
		"--help has the words but the first");
	ok(strstr(said, "write text, json (as lines) or heap, or text, json or heap") != NULL,
		"--help has the words with their notes, and those of another case");
	ok(!strstr(said, "hidden"), "--help has no hidden option");
	ok(strstr(said, "Heading: ") != NULL, "--help has headings");
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 300);

	argp_err_exit_status = UI_USAGE;
	test_list();
	test_help();
	seeds_try(s, try_table,
		"command lines are parsed as they were made, by tables made at random");
	return tap_end();
}
