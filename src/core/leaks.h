/* leaks.h - a process that ends by _exit never comes to the end where LeakSanitizer looks for leaks: it asks for it
 *
 * Nothing in a build without AddressSanitizer. What leaked is reported as the sanitizer's options say, and the process
 * ends with the sanitizer's exit code.
 */
#ifndef MUSTER_CORE_LEAKS_H
#define MUSTER_CORE_LEAKS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MUSTER_HAS_LSAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MUSTER_HAS_LSAN
#endif

#ifdef MUSTER_HAS_LSAN
#include <sanitizer/lsan_interface.h>
#endif

/* How long a process that is of no use any more is given to look for its leaks. */
#ifdef MUSTER_HAS_LSAN
#define MUSTER_LEAKS_GRACE_MS 30000
#else
#define MUSTER_LEAKS_GRACE_MS 0
#endif

static inline void muster_leaks_check(void)
{
#ifdef MUSTER_HAS_LSAN
	__lsan_do_leak_check();
#endif
}

#endif
