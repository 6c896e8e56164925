/* glibc-priv: what the files of glibc/ share. */
#ifndef MEMDIAG_GLIBC_GLIBC_PRIV_H
#define MEMDIAG_GLIBC_GLIBC_PRIV_H

#define HEAP_INFO_WORDS 4 /* there may be more */

#endif
