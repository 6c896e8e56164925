/* doctor: the output of 'memdiag doctor'. */
#ifndef MEMDIAG_VIEW_DOCTOR_H
#define MEMDIAG_VIEW_DOCTOR_H

#include "diagnose/doctor.h"
#include "os/os.h"
#include "ui/ui.h"

/*
 * Print FS, first those of the machine, then those of process T, which is NULL without a process:
 * one line each, or JSON. ui_output_close() reports write errors; JSON returns 0, or -1 with E.
 */
void doctor_show_text(
	const struct findings *fs, const struct ui_output *out, const struct target *t);
int doctor_show_json(
	const struct findings *fs, struct ui_output *out, const struct target *t, struct err *e);

#endif
