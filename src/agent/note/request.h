/* request: commands that memdiag sends by a call in a process that ran already. */
#ifndef MEMDIAG_AGENT_NOTE_REQUEST_H
#define MEMDIAG_AGENT_NOTE_REQUEST_H

#include "wire/wire.h"

/* Execute the request R, and store the answer in R. */
__attribute__((visibility("hidden"))) void request_serve(struct wire_request *r);

#endif
