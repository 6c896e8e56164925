#include <config.h>

#include "account/saved-maps.h"

#include <string.h>

#include "account/growth.h"

int
saved_maps_read(json_t **ret, enum rows_by *by, const char *path, bool is_by_wanted, json_t *filter,
	struct err *e)
{
	json_auto_t *saved = NULL;
	const char *name;
	enum rows_by was = 0;

	if (saved_read(&saved, path, e) < 0)
		return -1;
	name = json_string_value(json_object_get(json_object_get(saved, "data"), "by"));
	if (strcmp(saved_command(saved), "maps") != 0 || !name)
		return err_set(e, 0, "%s is not what 'memdiag maps --json' writes", path);
	while (was < NR_BY && strcmp(name, rows_by_names[was]) != 0)
		was++;
	if (was == NR_BY)
		return err_set(e, 0, "%s is not by class, object, arena, thread or mapping", path);
	if (is_by_wanted && was != *by)
		return err_set_kind(e, ERR_USAGE, 0, "%s is by %s", path, rows_by_names[was]);
	if (!saved_is_same_filter(json_object_get(saved, "data"), filter))
		return err_set_kind(e, ERR_USAGE, 0,
			"%s was saved with other --class, --object or --range", path);
	*by = was;
	*ret = json_incref(saved);
	return 0;
}
