#include <config.h>

#include "ui/exit.h"

enum ui_exit
ui_exit_of(const struct err *e)
{
	switch (e->kind) {
	case ERR_GONE:
		return UI_GONE;
	case ERR_PERMISSION:
		return UI_PERMISSION;
	case ERR_UNSUPPORTED:
		return UI_UNSUPPORTED;
	case ERR_NO_SAFE_POINT:
		return UI_NO_SAFE_POINT;
	case ERR_USAGE:
		return UI_USAGE;
	case ERR_NOT_RUN:
		return UI_NOT_RUN;
	case ERR_NOT_EXECUTABLE:
		return UI_NOT_EXECUTABLE;
	case ERR_NOT_FOUND:
		return UI_NOT_FOUND;
	case ERR_FAILED:
		break;
	}
	return UI_FAILED;
}
