/* Draw the graph of calls with dot. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/child.h"
#include "report/format.h"
#include "report/graph.h"
#include "report/report.h"
#include "ui/ui.h"

struct drawing {
	int from, to; /* descriptors */
};

/* Become dot, in a child. */
static int
drawing_become(void *arg, struct err *e)
{
	const struct drawing *d = arg;

	if (dup2(d->from, STDIN_FILENO) < 0 || dup2(d->to, STDOUT_FILENO) < 0)
		return err_set(e, errno, "cannot run 'dot'");
	execlp("dot", "dot", "-Tsvg", (char *)NULL);
	if (errno == ENOENT)
		return err_set(e, 0,
			"cannot draw the graph of calls: 'dot' is not installed; "
			"install graphviz, or use --format=flame, which needs no other program");
	return err_set(e, errno, "cannot run 'dot'");
}

/* Run dot on FROM and write its output to OUT. */
static int
drawing_run(FILE *from, struct ui_output *out, struct err *e)
{
	struct drawing d = { fileno(from), fileno(out->f) };
	struct os_end end;

	if (os_run_child(drawing_become, &d, &end, e) < 0)
		return -1;
	return end.status ? err_set(e, 0, "cannot draw the graph of calls: 'dot' failed") : 0;
}

static int
drawing_write(const struct report_view *v, struct ui_output *out, struct err *e)
{
	auto_file FILE *dot = tmpfile();

	if (!dot)
		return err_set(e, errno, "cannot keep the graph of calls");
	if (report_print_dot(v, dot, e) < 0)
		return -1;
	if (fflush(dot) || fseek(dot, 0, SEEK_SET) < 0)
		return err_set(e, errno, "cannot keep the graph of calls");
	return drawing_run(dot, out, e);
}

const struct report_format report_format_graph = { "graph", FORMAT_NEEDS_CALLS, 0, drawing_write,
	"of calls, SVG, by dot of graphviz" };
