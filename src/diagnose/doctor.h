/*
 * doctor: what memdiag doctor checks: what this machine allows, and what can be done with a
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
	FINDING_NOTE,	 /* a fact that is neither good nor bad */
	FINDING_UNKNOWN, /* something else must work first */
};

struct finding {
	const char *about; /* also the id in JSON */
	bool is_of_machine;
	enum finding_state state;
	char text[600];
};

struct findings {
	struct finding *v;
	size_t nr, room;
	bool is_of_machine; /* what is being checked now */
};

/*
 * Add to FS, which is zeroed or has findings, what this machine and memdiag's rights allow.  What
 * cannot be determined is a finding, too; one for which there is no memory is left out.
 */
void doctor_check_machine(struct findings *fs);
/*
 * Add in the same way what memdiag can read and do in process T, and what prevents the rest.  T is
 * neither stopped nor changed.
 */
void doctor_check_process(struct findings *fs, const struct target *t);

/* The number of those in STATE. */
size_t findings_count(const struct findings *fs, enum finding_state state);

void findings_release(struct findings *fs);
#define auto_findings __attribute__((cleanup(findings_release)))

#endif
