/* The session's table of services, empty until higher rows fill it, and macros by name.
 */
#include "op/services.h"

#include "lang/macro.h"

#include <string.h>

Services *services(Session *s) {
    Services *t = session_slot(s, SLOT_SERVICES);
    if (t) return t;
    t = mem_zalloc(s, 1, sizeof *t);
    session_set_slot(s, SLOT_SERVICES, t, mem_free);
    return t;
}

const Macro *macro_find(const char *name, size_t n) {
    for (size_t i = 0; catalogue_macros[i]; i++)
        for (size_t k = 0; k < catalogue_macros[i]->n; k++) {
            const Macro *m = &catalogue_macros[i]->macro[k];
            if (strlen(m->name) == n && memcmp(m->name, name, n) == 0) return m;
        }
    return NULL;
}
