/* message.h - how payloads travel between supervisors: a header of numbers, then parts
 *
 * "<number> <number> ...\n", then for each part "<rank> <length>\n<bytes>\n". Everything is checked when it is opened.
 */
#ifndef MUSTER_COORD_MESSAGE_H
#define MUSTER_COORD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct muster_message_writer { /* being written */
	char *bytes;
	size_t length;
	FILE *out;
};

void muster_message_begin(struct muster_message_writer *parcel, const int *numbers, size_t count);
void muster_message_add(struct muster_message_writer *parcel, int rank, const char *bytes, size_t length);
/* Afterwards bytes and length are set; the caller frees bytes. */
void muster_message_end(struct muster_message_writer *parcel);

/* The numbers of the header; *at is then the offset of the first part. false when the header is malformed. */
bool muster_message_header(const char *bytes, size_t length, int *ret, size_t count, size_t *at);
/* The next part at *at, which moves on. false at the end and for anything malformed. */
bool muster_message_part(
	const char *bytes, size_t length, size_t *at, int *ret_rank, const char **ret, size_t *ret_length);

#endif
