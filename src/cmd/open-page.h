/*
 * open-page: a page in a temporary file of the user's own, opened in a browser by xdg-open.
 */
#ifndef MEMDIAG_CMD_OPEN_PAGE_H
#define MEMDIAG_CMD_OPEN_PAGE_H

#include <stdbool.h>

#include "base/err.h"

struct open_page {
	char *path; /* of the page to write; NULL: no page is opened */
	bool is_shown;
};

/*
 * Choose the path of a new file, in a new directory that only the user may enter.  The caller
 * releases P, also on failure.  0, or -1 with E.
 */
int open_page_begin(struct open_page *p, struct err *e);

/* Open the page, which has been written.  It stays for the browser.  0, or -1 with E. */
int open_page_show(struct open_page *p, struct err *e);

/* Remove the directory of a page that was not shown. */
void open_page_release(struct open_page *p);
#define auto_open_page __attribute__((cleanup(open_page_release)))

#endif
