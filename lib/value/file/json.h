/* Values within a text of JSON that holds other things, too. */
#ifndef VALUE_FILE_JSON_H
#define VALUE_FILE_JSON_H

#include "format/json.h"
#include "value/class.h"

/* The array that comes next, for a receiver of type `want`: a number or nested lists,
 * or an object with dtype and data. `name` is for messages. */
bool json_array_next(JsonReader *j, const char *name, const Type *want, Tensor *out);
/* A member `key` of an object: an array as nested lists, unless these can't say its
 * shape; everything else as value_json. */
void json_put_value(Session *s, JsonWriter *w, const char *key, const Value *v);

#endif
