/* A session with the services of every row registered for the rows below. */
#include "tools/tools.h"

Session *tools_session(PanicFn *panic, void *ctx) {
    Session *s = session_new(panic, ctx);
    vm_open(s);
    ad_open(s);
    return s;
}
