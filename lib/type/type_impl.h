/* Shared by the files of lib/type. */
#ifndef TYPE_TYPE_IMPL_H
#define TYPE_TYPE_IMPL_H

#include "type/type.h"

typedef struct TypeMakerRow {
    const char *name;
    const TypeClass *cls;
    TypeMaker *make;
    void *ctx;
} TypeMakerRow;
const TypeMakerRow *type_maker_find(Session *s, const char *p, size_t n);
enum { TYPE_ARGS_MAX = 16 };

/* The plugin type of that name that was made last; NULL if there is none. */
const Type *type_plugin_find(Session *s, const char *p, size_t n);

#endif
