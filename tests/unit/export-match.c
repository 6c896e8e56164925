/* The conditions of export, the names of groups, and what a cgroup's path says. */
#include <config.h>

#include "export/facts.h"
#include "export/match.h"
#include "tests/unit/tap.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- cgroups ---- */

/* Paths as systemd, docker, podman, containerd and cri-o make them. */
static const struct {
	const char *cgroup, *unit, *container, *pod;
} cgroups[] = {
	{ "/", "", "", "" },
	{ "/system.slice/nginx.service", "nginx.service", "", "" },
	{ "/system.slice/postgresql@15-main.service", "postgresql@15-main.service", "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-foo.scope", "app-foo.scope",
		"", "" },
	{ "/user.slice/user-0.slice/session-3.scope", "session-3.scope", "", "" },
	{ "/system.slice/docker-" ID ".scope", "docker-" ID ".scope", "0123456789ab", "" },
	{ "/docker/" ID, "", "0123456789ab", "" },
	{ "/docker/" ID "/init", "", "0123456789ab", "" },
	{ "/machine.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope", "0123456789ab",
		"" },
	{ "/kubepods.slice/kubepods-burstable.slice/"
	  "kubepods-burstable-pod12345678_1234_1234_1234_123456789abc.slice/"
	  "cri-containerd-" ID ".scope",
		"cri-containerd-" ID ".scope", "0123456789ab",
		"12345678-1234-1234-1234-123456789abc" },
	{ "/kubepods/besteffort/pod12345678-1234-1234-1234-123456789abc/" ID, "", "0123456789ab",
		"12345678-1234-1234-1234-123456789abc" },
	{ "/kubepods/pod12345678-1234-1234-1234-123456789abX/x", "", "", "" },
	{ "/a/" ID "f", "", "123456789abc", "" }, /* 65 digits: the last 64 */
	{ "/a/012345", "", "", "" },
	{ "/.service/x", "", "", "" },
	{ "relative.scope", "relative.scope", "", "" },
	{ "", "", "", "" },
};

static void
test_cgroups(void)
{
	char name[128];

	for (size_t i = 0; i < sizeof cgroups / sizeof *cgroups; i++) {
		struct export_facts f = { .cgroup = strdup(cgroups[i].cgroup) };

		export_facts_of_cgroup(&f);
		snprintf(name, sizeof name, "unit of %.60s", f.cgroup);
		is_str(f.unit, cgroups[i].unit, name);
		snprintf(name, sizeof name, "container of %.60s", f.cgroup);
		is_str(f.container, cgroups[i].container, name);
		snprintf(name, sizeof name, "pod of %.60s", f.cgroup);
		is_str(f.pod, cgroups[i].pod, name);
		export_facts_release(&f);
	}
}

/* ---- conditions ---- */

static const char *const good[] = { "comm=mysqld", "exe=/usr/sbin/*", "unit=nginx*,min-rss=64M",
	"cgroup=/kubepods*", "container=0123*", "pod=*", "min-rss=0", "comm=a=b",
	"comm=a,exe=b,unit=c,cgroup=d,container=e,pod=f,min-rss=1G" };

static const char *const bad[] = { "", ",", "comm", "comm=", "=x", "comm=a,", ",comm=a",
	"comm=a,comm=b", "pid=1", "min-rss=x", "min-rss=", "min-rss=-1", "COMM=a", "comm =a",
	"comm=a,,exe=b" };

static void
test_parse(void)
{
	struct export_matches m = { 0 };

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(!export_match_add(&m, good[i]) && m.nr == i + 1, "'%s' is a condition", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(export_match_add(&m, bad[i]) && m.nr == sizeof good / sizeof *good,
			"'%s' is none", bad[i]);
	export_matches_release(&m);
	ok(!m.nr, "they are released");
}

/* Facts of the process against which the conditions are tried. */
static const struct export_facts facts = {
	.comm = "mysqld",
	.exe = (char[]){ "/usr/sbin/mariadbd" },
	.cgroup = (char[]){ "/system.slice/mariadb.service" },
	.unit = "mariadb.service",
	.rss_bytes = 1 << 20,
};

static const struct {
	const char *condition;
	bool takes;
} cases[] = {
	{ "comm=mysqld", true },
	{ "comm=mysql", false },
	{ "comm=mysql*", true },
	{ "comm=my[a-z]qld", true },
	{ "exe=mariadbd", true },
	{ "exe=/usr/sbin/mariadbd", true },
	{ "exe=/usr/*", true },
	{ "exe=sbin/mariadbd", false },
	{ "unit=mariadb.service", true },
	{ "unit=*.scope", false },
	{ "container=*", true }, /* "" matches * */
	{ "container=?*", false },
	{ "min-rss=1M", true },
	{ "min-rss=1025K", false },
	{ "comm=mysqld,min-rss=2M", false },
	{ "comm=mysqld,exe=mysqld", false },
	{ "comm=mysqld,cgroup=/system.slice/*", true },
};

static void
test_take(void)
{
	struct export_matches two = { 0 }, none = { 0 };
	const struct export_facts unknown = { .comm = "x" };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct export_matches m = { 0 };

		export_match_add(&m, cases[i].condition);
		ok(export_matches_take(&m, &facts) == cases[i].takes, "'%s' %s", cases[i].condition,
			cases[i].takes ? "takes it" : "leaves it");
		export_matches_release(&m);
	}
	export_match_add(&two, "comm=x");
	export_match_add(&two, "comm=mysqld");
	ok(export_matches_take(&two, &facts), "any of two conditions takes it");
	ok(export_matches_take(&two, &unknown), "facts that are unknown are empty");
	ok(!export_matches_take(&none, &facts), "no condition takes nothing");
	export_matches_release(&two);
}

/* ---- names ---- */

static const struct {
	const char *template, *name; /* NULL: not a template */
} names[] = {
	{ "{unit}", "mariadb.service" },
	{ "{exe}", "mariadbd" },
	{ "{comm}", "mysqld" },
	{ "{container}", "mysqld" },
	{ "{cgroup}", "/system.slice/mariadb.service" },
	{ "db-{comm}/{pod}!", "db-mysqld/mysqld!" },
	{ "all", "all" },
	{ "}", "}" },
	{ "", NULL },
	{ "{", NULL },
	{ "{}", NULL },
	{ "{pid}", NULL },
	{ "{comm", NULL },
	{ "a{comm}{", NULL },
};

static void
test_names(void)
{
	char name[EXPORT_NAME_BYTES], words[160], template[600] = "";
	struct export_facts odd = { .comm = "a\n\"\x80\xff\\" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const bool is_good = names[i].name;

		ok(!export_name_check(names[i].template) == is_good, "template '%s' is %s",
			names[i].template, is_good ? "good" : "refused");
		snprintf(words, sizeof words, "the name by '%s'", names[i].template);
		if (is_good)
			is_str(export_name(names[i].template, &facts, name), names[i].name, words);
	}
	is_str(export_name("{comm}", &odd, name), "a\\012\"\\200\\377\\", "a name is printable");
	odd.comm[0] = '\0';
	is_str(export_name("{comm}", &odd, name), "?", "a name is not empty");
	for (int i = 0; i < 80; i++)
		strcat(template, "{comm}");
	ok(strlen(export_name(template, &facts, name)) == EXPORT_NAME_BYTES - 1,
		"a long name is cut");
}

int
main(void)
{
	test_cgroups();
	test_parse();
	test_take();
	test_names();
	return tap_end();
}
