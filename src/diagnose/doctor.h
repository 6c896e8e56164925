/*
 * doctor: the checks of memdiag doctor: what this machine allows, and what memdiag can do with a
 * process.
 */
#ifndef MEMDIAG_DIAGNOSE_DOCTOR_H
#define MEMDIAG_DIAGNOSE_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "os/os.h"

enum finding_state {
	FINDING_YES,
	FINDING_NO,
	FINDING_NOTE,	 /* a neutral fact */
	FINDING_UNKNOWN, /* depends on something that does not work */
};

struct finding {
	const char *about; /* also used as id in JSON */
	bool is_of_machine;
	enum finding_state state;
	char text[600];
};

struct findings {
	struct finding *v;
	size_t nr, room;
	bool is_of_machine; /* the current checks concern the machine */
};

/*
 * Add to FS, which is zeroed or has findings, what this machine and memdiag's privileges allow.
 * Unknown results are findings, too; a finding is dropped if memory for it is exhausted.
 */
void doctor_check_machine(struct findings *fs);
/*
 * Likewise add what memdiag can read and do in process T, and the obstacles to the rest.  T is
 * neither stopped nor changed.
 */
void doctor_check_process(struct findings *fs, const struct target *t);

/* Return the number of findings in STATE. */
size_t findings_count(const struct findings *fs, enum finding_state state);

void findings_release(struct findings *fs);
#define auto_findings __attribute__((cleanup(findings_release)))

#endif
