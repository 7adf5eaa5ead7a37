/* What the files of lib/type share. */
#ifndef TYPE_TYPE_IMPL_H
#define TYPE_TYPE_IMPL_H

#include "type/type.h"

/* The plugin's type of that name that was made last; NULL if there is none. */
const Type *type_plugin_find(Session *s, const char *p, size_t n);

#endif
