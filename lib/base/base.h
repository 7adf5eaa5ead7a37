/* The bottom row: memory, strings, maps, numbers as text, diagnostics, threads. It
 * knows neither files nor tensors. Everything mutable hangs off a Session; nothing here
 * prints or exits. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include "base/diag.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/session.h"
#include "base/str.h"

#endif
