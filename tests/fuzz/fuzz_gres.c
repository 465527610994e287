/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gres.c - Slurm's lists of resources: refused with one line, or a number of GPUs that the same list twice has
 * twice */
#include "fuzz.h"

#include "system/gres.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct muster_error err;
	char *text = fuzz_string(bytes, size), *twice = muster_asprintf("%s,%s", text, text);
	long gpus, again;
	if (muster_gres_gpus(text, strlen(text), &gpus, &err) < 0)
		fuzz_check_error(&err);
	else if (muster_gres_gpus(twice, strlen(twice), &again, &err) == 0)
		FUZZ_CHECK(gpus >= 0 && again == 2 * gpus, "%s: %ld, twice %ld", text, gpus, again);
	else
		FUZZ_CHECK(gpus > INT_MAX / 2 || strchr(text, '('), "%s twice: %s", text, err.text);
	if (muster_gres_gpus_alone(text, &gpus, &err) < 0)
		fuzz_check_error(&err);
	if (muster_gres_of_job(text, &gpus, &err) < 0)
		fuzz_check_error(&err);
	else
		FUZZ_CHECK(gpus > 0 && gpus <= INT_MAX, "%s: %ld", text, gpus);
	free(twice);
	free(text);
	return 0;
}
