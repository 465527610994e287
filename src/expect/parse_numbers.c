/* parse_numbers.c - numbers that several operators bound in the same way */
#include "expect/parse.h"

int muster_expect_share_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	double *number = into;
	if (muster_json_number_read(r, number, json) < 0)
		return -1;
	return *number > 0 && *number < 1
		       ? 0
		       : muster_json_reader_fail(r, "a number above 0 and below 1 is needed, found %g", *number);
}

int muster_expect_above_0_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	double *number = into;
	if (muster_json_number_read(r, number, json) < 0)
		return -1;
	return *number > 0 ? 0 : muster_json_reader_fail(r, "a number above 0 is needed, found %g", *number);
}

int muster_expect_from_0_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	double *number = into;
	if (muster_json_number_read(r, number, json) < 0)
		return -1;
	return *number >= 0 ? 0 : muster_json_reader_fail(r, "a number from 0 is needed, found %g", *number);
}
