/* SPDX-License-Identifier: Apache-2.0 */
/* leaks.h - run LeakSanitizer's check in a process that ends by _exit, which skips it
 *
 * Only with $MUSTER_LEAKS set, and never in a build without AddressSanitizer: MPI's leaks can be distinguished from
 * ours only with slow options (tests/scenarios/leaks.py). Leaks are reported as the sanitizer's options say, and the
 * process exits with the sanitizer's exit code.
 */
#ifndef MUSTER_UTIL_LEAKS_H
#define MUSTER_UTIL_LEAKS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MUSTER_HAS_LSAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MUSTER_HAS_LSAN
#endif

#ifdef MUSTER_HAS_LSAN
#include "util/env.h"

#include <sanitizer/lsan_interface.h>

static inline void muster_leaks_check(void)
{
	if (muster_env(MUSTER_ENV_LEAKS))
		__lsan_do_leak_check();
}

/* How long a process that is of no use any more is given to look for its leaks. */
static inline int muster_leaks_grace_ms(void)
{
	return muster_env(MUSTER_ENV_LEAKS) ? 30000 : 0;
}
#else
static inline void muster_leaks_check(void)
{
}

static inline int muster_leaks_grace_ms(void)
{
	return 0;
}
#endif

#endif
