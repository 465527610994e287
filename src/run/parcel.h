/* parcel.h - how payloads travel between supervisors: a header of numbers, then parts
 *
 * "<number> <number> ...\n", then for each part "<rank> <length>\n<bytes>\n". Everything is checked when it is opened.
 */
#ifndef MUSTER_RUN_PARCEL_H
#define MUSTER_RUN_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct muster_parcel { /* being written */
	char *bytes;
	size_t length;
	FILE *out;
};

void muster_parcel_begin(struct muster_parcel *parcel, const int *numbers, size_t count);
void muster_parcel_add(struct muster_parcel *parcel, int rank, const char *bytes, size_t length);
/* Afterwards bytes and length are set; the caller frees bytes. */
void muster_parcel_end(struct muster_parcel *parcel);

/* The numbers of the header; *at is then the offset of the first part. false when the header is malformed. */
bool muster_parcel_header(const char *bytes, size_t length, int *ret, size_t count, size_t *at);
/* The next part at *at, which moves on. false at the end and for anything malformed. */
bool muster_parcel_part(
	const char *bytes, size_t length, size_t *at, int *ret_rank, const char **ret, size_t *ret_length);

#endif
