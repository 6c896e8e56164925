/*
 * request: what memdiag asks for by a call, in a process that ran already.
 */
#ifndef MEMDIAG_AGENT_NOTE_REQUEST_H
#define MEMDIAG_AGENT_NOTE_REQUEST_H

#include "wire/wire.h"

/* Do what R asks for, and answer it there. */
__attribute__((visibility("hidden"))) void request_serve(struct wire_request *r);

#endif
