/*
 * doctor: what 'memdiag doctor' prints.
 */
#ifndef MEMDIAG_VIEW_DOCTOR_H
#define MEMDIAG_VIEW_DOCTOR_H

#include "diagnose/doctor.h"
#include "os/os.h"
#include "ui/ui.h"

/*
 * Print FS, those of the machine first, then those of process T, which is NULL if there are none:
 * one line for each, or JSON.  ui_output_close() reports errors of writing; 0, or -1 with E.
 */
void doctor_show_text(
	const struct findings *fs, const struct ui_output *out, const struct target *t);
int doctor_show_json(
	const struct findings *fs, struct ui_output *out, const struct target *t, struct err *e);

#endif
