/* Is this built with AddressSanitizer, which has an allocator of its own? */
#ifndef BASE_SANITIZER_H
#define BASE_SANITIZER_H

#ifdef __has_feature
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
