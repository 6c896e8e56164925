/*
 * profiles: the sites of a history, and the chosen blocks of a recording, as profiles whose names
 * may still have to be found (profile/symbols.h).
 */
#ifndef MEMDIAG_RECORDING_PROFILES_H
#define MEMDIAG_RECORDING_PROFILES_H

#include "profile/profile.h"
#include "recording/choice.h"
#include "recording/history.h"
#include "recording/recording.h"

/*
 * Make a profile of each site's values at the end: alloc_, inuse_, peak_ and temporary_, _objects
 * and _space; in a history that keeps lives also max_objects, max_space and lives_time, in
 * milliseconds, and otherwise mapped_ and mapped_alloc_ if the format has mappings.  The caller
 * frees *RET.
 */
int history_profile(
	struct profile **ret, const struct history *h, struct recording *r, struct err *e);
/*
 * As history_profile(); *RET_SAMPLES, which the caller frees, has for each site of H the number of
 * its sample, or UINT32_MAX if it has none.
 */
int history_profile_by_site(struct profile **ret, uint32_t **ret_samples, const struct history *h,
	struct recording *r, struct err *e);
/*
 * Make a profile of the live amounts at TO, as inuse_objects and inuse_space, with mapped_objects
 * and mapped_space if the format has mappings; if FROM is not NULL, of the differences from FROM
 * that are not 0.
 */
int history_moment_profile(struct profile **ret, const struct history_moment *from,
	const struct history_moment *to, struct recording *r, struct err *e);

/*
 * Make a profile of the certain amounts as inuse_objects and inuse_space, and the possible ones as
 * possible_objects and possible_space.  The caller frees *RET.
 */
int history_chosen_profile(
	struct profile **ret, const struct history_chosen *c, struct recording *r, struct err *e);

#endif
