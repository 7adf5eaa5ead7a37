/* Large blocks, each with address space of its own. One grows and shrinks in place, so
 * that it stays in huge pages: the kernel takes them apart when it moves a block by
 * anything but whole ones, and a graph of a million Applies, walked in small pages,
 * takes up to twice as long. For mem.c. */
#ifndef BASE_LARGE_H
#define BASE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/* Cleared. NULL: malloc has to do, since it is too large, or address space is limited,
 * or a sanitizer watches the ends of its own blocks. */
void *large_alloc(size_t size);
bool large_owns(const void *p); /* any block of the process, or NULL */
size_t large_size(const void *p);
/* What it grows by is cleared. False, and unchanged: its address space or memory
 * ends. */
bool large_resize(void *p, size_t size);
void large_free(void *p);

#endif
