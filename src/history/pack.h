/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - the numbers of one key on one node as few bytes
 *
 * One number for all parts is stored once; of several the form that is the smallest one without loss for whole numbers;
 * other numbers keep seven digits, more than a measurement has. All bytes are the same on all machines.
 *
 * The eight bandwidths of a node's GPUs are 1 + 8 x 4 bytes; eight counts of errors below 128 are 1 + 8 bytes.
 */
#ifndef MUSTER_HISTORY_PACK_H
#define MUSTER_HISTORY_PACK_H

#include <stdbool.h>
#include <stddef.h>

enum { MUSTER_PACK_VALUE_MAX = 8 };

/* Bytes that muster_pack needs at most. */
#define MUSTER_PACK_SIZE(count) (1 + (count)*MUSTER_PACK_VALUE_MAX)

/* Whether count > 0 values are all the same. */
bool muster_pack_is_one(const double *values, size_t count);

/* Write count finite values to out; returns the bytes. */
size_t muster_pack(const double *values, size_t count, unsigned char *out);

/* Read exactly count values. False when the bytes are not that, or a value is not finite. */
bool muster_unpack(const unsigned char *bytes, size_t length, double *ret, size_t count);

#endif
