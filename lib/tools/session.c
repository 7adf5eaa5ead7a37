/* A session in which every row has offered its services to the rows below. */
#include "tools/tools.h"

Session *tools_session(PanicFn *panic, void *ctx) {
    Session *s = session_new(panic, ctx);
    vm_open(s);
    ad_open(s);
    return s;
}
