/* export-options: the options of export, for memdiag and for the program that serves. */
#ifndef MEMDIAG_CMD_EXPORT_OPTIONS_H
#define MEMDIAG_CMD_EXPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/match.h"
#include "ui/option.h"
#include "ui/ui.h"

struct export_options {
	struct ui_options ui;
	const char *listen; /* as of export_listen() */
	bool has_listen;
	const char *tls_cert, *tls_key; /* files; NULL: no TLS */
	const char *user;		/* NULL: the present one */
	const char *textfile;		/* NULL: none */
	bool once;
	const char *template;
	struct export_matches matches; /* never empty after parsing */
	unsigned int max_processes, max_groups;
	uint64_t request_ns;
};

/* Its input is a struct export_options, zeroed. */
extern const struct ui_syntax export_syntax;

#endif
