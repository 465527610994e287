/* message.c - how payloads travel between supervisors */
#include "message.h"

#include "muster/arena.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void muster_message_begin(struct muster_message_writer *parcel, const int *numbers, size_t count)
{
	*parcel = (struct muster_message_writer){ 0 };
	parcel->out = open_memstream(&parcel->bytes, &parcel->length);
	if (!parcel->out)
		abort(); /* out of memory */
	for (size_t i = 0; i < count; i++)
		fprintf(parcel->out, "%d%c", numbers[i], i + 1 < count ? ' ' : '\n');
}

void muster_message_add(struct muster_message_writer *parcel, int rank, const char *bytes, size_t length)
{
	fprintf(parcel->out, "%d %zu\n", rank, length);
	fwrite(bytes, 1, length, parcel->out);
	fputc('\n', parcel->out);
}

void muster_message_end(struct muster_message_writer *parcel)
{
	if (fclose(parcel->out) != 0)
		abort(); /* out of memory */
	parcel->out = NULL;
}

/* A number that ends with this character; bytes end in a NUL, so strtol stops in time. */
static bool number(const char *bytes, size_t length, size_t *at, char end, long long *ret)
{
	char *stop;
	if (*at >= length)
		return false;
	errno = 0;
	*ret = strtoll(bytes + *at, &stop, 10);
	size_t next = (size_t)(stop - bytes);
	if (next == *at || errno || next >= length || *stop != end)
		return false;
	*at = next + 1;
	return true;
}

bool muster_message_header(const char *bytes, size_t length, int *ret, size_t count, size_t *at)
{
	*at = 0;
	for (size_t i = 0; i < count; i++) {
		long long value;
		if (!number(bytes, length, at, i + 1 < count ? ' ' : '\n', &value) || value < INT_MIN ||
			value > INT_MAX)
			return false;
		ret[i] = (int)value;
	}
	return true;
}

bool muster_message_part(
	const char *bytes, size_t length, size_t *at, int *ret_rank, const char **ret, size_t *ret_length)
{
	long long rank, size;
	if (!number(bytes, length, at, ' ', &rank) || !number(bytes, length, at, '\n', &size) || rank < 0 ||
		rank > INT_MAX || size < 0 || (unsigned long long)size >= length - *at)
		return false;
	*ret_rank = (int)rank;
	*ret = bytes + *at;
	*ret_length = (size_t)size;
	*at += (size_t)size + 1;
	return true;
}
