#include <config.h>

#include "diagnose/verdict-words.h"

#include <stdio.h>

bool
verdict_weighs(uint64_t bytes, uint64_t least, double share, uint64_t whole)
{
	return bytes >= least && (double)bytes >= share * (double)whole;
}

int
verdict_percent(uint64_t part, uint64_t whole)
{
	return whole ? (int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

const char *
verdict_share_text(const struct verdict_facts *f, uint64_t bytes, char *buf, size_t size)
{
	snprintf(buf, size, "%d %% of %s", verdict_percent(bytes, f->rss_bytes),
		f->is_account	     ? "what malloc has"
			: f->is_core ? "what its arenas have"
				     : "RSS");
	return buf;
}

void
verdict_say(struct verdict *v, const char *severity, uint64_t bytes, const char *fmt, ...)
{
	__builtin_va_list ap;

	v->severity = severity;
	v->bytes = bytes;
	__builtin_va_start(ap, fmt);
	vsnprintf(v->text, sizeof v->text, fmt, ap);
	__builtin_va_end(ap);
}

void
verdict_advise(struct verdict *v, const char *fmt, ...)
{
	size_t i = 0;
	__builtin_va_list ap;

	while (i < VERDICT_ACTIONS - 1 && *v->action[i])
		i++;
	__builtin_va_start(ap, fmt);
	vsnprintf(v->action[i], sizeof v->action[i], fmt, ap);
	__builtin_va_end(ap);
}

void
verdict_advise_run(const struct verdict_facts *f, struct verdict *v, const char *command)
{
	if (!f->is_core && !f->is_account)
		verdict_advise(v, "memdiag %s -p %d", command, (int)f->pid);
}
