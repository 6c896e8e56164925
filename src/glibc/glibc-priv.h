/* glibc-priv: declarations shared by the files of glibc/. */
#ifndef MEMDIAG_GLIBC_GLIBC_PRIV_H
#define MEMDIAG_GLIBC_GLIBC_PRIV_H

#define HEAP_INFO_WORDS 4 /* later releases have more */

#endif
