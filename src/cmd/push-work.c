#include <config.h>

#include "cmd/push-work.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentdata/collect.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "capture/wait.h"
#include "export/push-http.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/target.h"
#include "ui/progress.h"

#define NS_PER_S UINT64_C(1000000000)
#define LEAST_INTERVAL_NS (NS_PER_S / 10)
#define DEFAULT_INTERVAL_NS (15 * NS_PER_S)
/* Time for the server after the last profile. */
#define END_NS (10 * NS_PER_S)
#define LOOK_NS (NS_PER_S / 10)

/* ---- options ---- */

void
push_work_set_url(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	(void)input;
	if (strncmp(arg, "http://", 7) != 0 && strncmp(arg, "https://", 8) != 0)
		ui_option_refuse(state, row, "the URL");
}

static void
push_work_set_label(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct push_work_options *o = input;
	const char *equals = strchr(arg, '=');
	const char **label;

	if (!equals || !push_is_label_name(arg, (size_t)(equals - arg)) ||
		!push_is_label_value(equals + 1))
		ui_option_refuse(state, row, arg);
	label = array_add(&o->labels);
	if (!label)
		argp_failure(state, 1, ENOMEM, "cannot keep a label");
	else
		*label = arg;
}

#define AT(member) UI_AT(struct push_work_options, member)
#define GIVEN(member) UI_GIVEN(struct push_work_options, member)

static const struct ui_option options[] = {
	{ "push-every", 0, "DURATION", 4, "with --push: send every DURATION, from 100ms (15s)",
		UI_DURATION, AT(every_ns), GIVEN(has_every), .least = LEAST_INTERVAL_NS,
		.preset = DEFAULT_INTERVAL_NS, .beyond = "is too short: at least 100ms" },
	{ "push-format", 0, "FORMAT", 4, "with --push: the server is {words} (pyroscope)", UI_WORD,
		AT(format), GIVEN(has_format), .words = push_format_names,
		.wrong = "is not a server: say " },
	{ "push-name", 0, "NAME", 4,
		"with --push: the name of the application (that of the process)", UI_STRING,
		AT(name) },
	{ "push-label", 0, "NAME=VALUE", 4,
		"with --push: add a label to hostname and pid; may be given again", UI_STRING,
		GIVEN(has_labels), .set = push_work_set_label,
		.wrong = "is not a label: NAME=VALUE, with letters, digits and, in VALUE, "
			 "_ . : / @ + -" },
	{ "push-tenant", 0, "ID", 4, "with --push: send ID as X-Scope-OrgID", UI_STRING,
		AT(tenant) },
	{ "push-header-file", 0, "FILE", 4,
		"with --push: send the headers in FILE, one a line, such as Authorization", UI_FILE,
		AT(header_file) },
	{ 0 },
};

#define NEEDS(member)                                                                              \
	UI_RULE(UI_NEEDS, struct push_work_options, member, url,                                   \
		"--push-every and the other --push options are for --push URL")

static const struct ui_rule rules[] = {
	NEEDS(has_every),
	NEEDS(has_format),
	NEEDS(name),
	NEEDS(has_labels),
	NEEDS(tenant),
	NEEDS(header_file),
	{ 0 },
};

const struct ui_syntax push_work_syntax = { .options = options, .rules = rules };

/* ---- the beginning ---- */

/* Make the series of T's profiles. */
static int
make_series(struct push_series *s, const struct push_work_options *opt, const struct target *t,
	struct err *e)
{
	char host[HOST_NAME_MAX + 1] = "", pid[16];

	gethostname(host, sizeof host - 1);
	snprintf(pid, sizeof pid, "%d", (int)t->pid);
	s->format = opt->format;
	s->url = strdup(opt->url);
	if (!s->url)
		return err_set(e, ENOMEM, "cannot push profiles");
	if (push_series_set_name(s, opt->name ? opt->name : t->comm, e) < 0 ||
		push_series_add(s, "hostname", host, e) < 0 ||
		push_series_add(s, "pid", pid, e) < 0)
		return -1;
	for (size_t i = 0; i < opt->labels.nr; i++) {
		const char *equals = strchr(opt->labels.v[i], '=');
		auto_free char *name =
			strndup(opt->labels.v[i], (size_t)(equals - opt->labels.v[i]));

		if (!name)
			return err_set(e, ENOMEM, "cannot push profiles");
		if (push_series_add(s, name, equals + 1, e) < 0)
			return -1;
	}
	return 0;
}

int
push_work_begin(struct push_work *w, const struct push_work_options *opt, const struct target *t,
	struct err *e)
{
	auto_text struct text headers = { 0 };
	struct push_series series = { 0 };

	w->opt = opt;
	if (!opt || !opt->url)
		return 0;
	if (opt->header_file && push_http_read_headers(&headers, opt->header_file, e) < 0)
		return -1;
	if (make_series(&series, opt, t, e) < 0) {
		push_series_release(&series);
		return -1;
	}
	w->next_ns = os_now_ns() + opt->every_ns;
	return push_begin(&w->push, &series, headers.v, opt->tenant, os_real_ns(), e);
}

void
push_work_release(struct push_work *w)
{
	push_free(w->push, NULL);
	w->push = NULL;
	live_names_release(&w->names);
}

/* ---- meanwhile ---- */

static void
push_work_say(const char *text)
{
	ui_progress_clear();
	fprintf(stderr, "memdiag profile: %s\n", text);
}

static void
print_messages(struct push_work *w)
{
	char text[512];

	while (push_message(w->push, text, sizeof text))
		push_work_say(text);
}

/* Make a profile of C, and pass it to the thread. */
static int
push_samples(struct push_work *w, const struct sites_copy *c, const struct process *p,
	bool has_ended, struct err *e)
{
	auto_profile struct profile *profile = NULL;
	const uint64_t now_ns = os_real_ns();

	if (profile_collect(&profile, c, p, e) < 0 ||
		live_names_find(&w->names, profile, has_ended ? NULL : p, e) < 0)
		return -1;
	push_add(w->push, take_ptr(&profile), now_ns);
	return 0;
}

static int
push_present(struct push_work *w, const struct target *t, int fd, struct err *e)
{
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	auto_process struct process p = { .target = t };

	/* The samples first: what they have was mapped before. */
	if (sites_read_file(&c, fd, e) < 0 || process_read(&p, t, e) < 0)
		return -1;
	/* A program that was executed since is another one. */
	return capture_maps_file(&p, fd) ? push_samples(w, &c, &p, false, e) : 0;
}

void
push_work_look(struct push_work *w, const struct target *t, int fd)
{
	const uint64_t now_ns = os_now_ns();
	struct err e;

	if (!w->push)
		return;
	print_messages(w);
	if (now_ns < w->next_ns)
		return;
	w->next_ns += w->opt->every_ns;
	if (w->next_ns < now_ns)
		w->next_ns = now_ns;
	if (push_present(w, t, fd, &e) == 0 || w->has_failed || !target_is_alive(t))
		return;
	w->has_failed = true;
	push_work_say(e.msg);
}

/* ---- the end ---- */

void
push_work_end(struct push_work *w, const struct sites_copy *c, const struct process *p,
	bool has_ended, struct capture_pushes *ret)
{
	struct push_sums sums;
	uint64_t end_ns;
	struct err e;

	if (!w->push)
		return;
	if (push_samples(w, c, p, has_ended, &e) < 0)
		push_work_say(e.msg);
	push_close(w->push);
	end_ns = os_now_ns() + END_NS;
	while (!push_is_done(w->push) && os_now_ns() < end_ns &&
		capture_wait(NULL, LOOK_NS) == CAPTURE_WAIT_OVER)
		print_messages(w);
	print_messages(w);
	push_free(take_ptr(&w->push), &sums);
	*ret = (struct capture_pushes){ true, sums.nr_accepted, sums.nr_retries, sums.nr_refused,
		sums.nr_dropped };
}
