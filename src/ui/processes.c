/* Find the processes that a command line names. */
#include <config.h>

#include "ui/processes.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/diagnose.h"
#include "os/named.h"
#include "os/rights.h"
#include "ui/table.h"
#include "ui/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define CANDIDATES_SHOWN 10
#define COMMAND_COLUMNS 60

/* Write the age AGE_S as a single number: "45s", "12m", "30h", "4d". */
static const char *
age(uint64_t age_s, char *buf, size_t size)
{
	static const struct {
		uint64_t up_to, seconds;
		char unit;
	} units[] = { { 120, 1, 's' }, { 2 * 3600, 60, 'm' }, { 48 * 3600, 3600, 'h' },
		{ UINT64_MAX, 86400, 'd' } };
	size_t i = 0;

	while (age_s >= units[i].up_to)
		i++;
	snprintf(buf, size, "%" PRIu64 "%c", age_s / units[i].seconds, units[i].unit);
	return buf;
}

static int
add_candidate(
	struct ui_table *table, const struct ui_options *o, const struct os_named *n, struct err *e)
{
	char pid[24], started[32], command[COMMAND_COLUMNS + 1];

	snprintf(pid, sizeof pid, "%d", (int)n->pid);
	return ui_table_add(table, e, pid, age(n->age_s, started, sizeof started),
		UI_SIZE(o, n->rss_bytes), text_abbreviate(n->command, command, sizeof command),
		NULL);
}

/* List the NR processes V on standard error, before the error message. */
static int
list_candidates(const struct ui_options *o, const struct os_named *v, size_t nr, struct err *e)
{
	struct ui_output out = { .f = stderr };
	auto_table struct ui_table *table = ui_table_new(&out);

	if (!table || ui_table_column(table, "PID", true, e) < 0 ||
		ui_table_column(table, "AGE", true, e) < 0 ||
		ui_table_column(table, "RSS", true, e) < 0 ||
		ui_table_column(table, "COMMAND", false, e) < 0)
		return -1;
	for (size_t i = 0; i < nr && i < CANDIDATES_SHOWN; i++)
		if (add_candidate(table, o, &v[i], e) < 0)
			return -1;
	if (ui_table_print(table, e) < 0)
		return -1;
	if (nr > CANDIDATES_SHOWN)
		fprintf(stderr, "and %zu more\n", nr - CANDIDATES_SHOWN);
	return 0;
}

/* Refuse NAME, which is the name of the NR processes V. */
static int
refuse_candidates(const struct ui_options *o, const char *name, const struct os_named *v, size_t nr,
	struct err *e)
{
	char shown[80];

	text_abbreviate(name, shown, sizeof shown);
	if (!nr) {
		struct os_rights us;

		os_rights(&us);
		if (!us.hides_others)
			return err_set_kind(
				e, ERR_GONE, 0, "there is no process called '%s'", shown);
		err_set_kind(e, ERR_PERMISSION, 0,
			"no process called '%s' is to be seen: " OS_HIDES, shown, us.hidepid);
		return err_hint(e, OS_HIDES_HELP);
	}
	if (list_candidates(o, v, nr, e) < 0)
		return -1;
	return err_set_kind(e, ERR_USAGE, 0,
		"%zu processes are called '%s'; choose one by its PID%s", nr, shown,
		o->takes_several ? ", or all of them by --all" : "");
}

/* Add PID unless it is already in the list. */
static int
processes_add_found(struct ui_processes *found, pid_t pid, struct err *e)
{
	struct ui_process *p;

	for (size_t i = 0; i < found->nr; i++)
		if (found->v[i].pid == pid)
			return 0;
	p = array_add(found);
	if (!p)
		return err_set(e, ENOMEM, "cannot keep the processes");
	p->pid = pid;
	return 0;
}

/* Add the process or processes named by ASKED to FOUND. */
static int
find_one(const struct ui_options *o, const struct ui_process *asked, struct ui_processes *found,
	struct err *e)
{
	auto_free struct os_named *v = NULL;
	size_t nr = 0;

	if (asked->pid)
		return processes_add_found(found, asked->pid, e);
	if (os_processes_named(asked->name, &v, &nr, e) < 0)
		return -1;
	if (!nr || (nr > 1 && !o->all_of_name))
		return refuse_candidates(o, asked->name, v, nr, e);
	for (size_t i = 0; i < nr; i++)
		if (processes_add_found(found, v[i].pid, e) < 0)
			return -1;
	return 0;
}

int
ui_find_processes(struct ui_options *o, struct err *e)
{
	struct ui_processes found = { 0 };
	int failed = 0;

	for (size_t i = 0; !failed && i < o->asked.nr; i++)
		failed = find_one(o, &o->asked.v[i], &found, e);
	free(o->asked.v);
	o->asked = found;
	if (!failed && o->asked.nr)
		o->pid = o->asked.v[0].pid;
	return failed;
}

int
ui_find_process(struct ui_options *o, struct err *e)
{
	int failed = ui_find_processes(o, e);

	free(o->asked.v);
	o->asked = (struct ui_processes){ 0 };
	return failed;
}
