/* SPDX-License-Identifier: Apache-2.0 */
/* hints.h - what clang's analyzer cannot see, because it looks at one file at a time
 *
 * muster_fail and muster_wrap always give -1. Not knowing it, the analyzer follows failed calls on as if they had
 * succeeded, into results that were never written.
 */
#define muster_fail(...) ((muster_fail)(__VA_ARGS__), -1)
#define muster_wrap(...) ((muster_wrap)(__VA_ARGS__), -1)
