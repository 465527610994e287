/* fault_gpu.c - what can be wrong with one GPU */
#include "sim/fault_kinds.h"

#include "util/text.h"

#include <stdio.h>

static int slow_copy(double *alone, double *together, const char *value, struct muster_error *err)
{
	if (muster_fault_number(value, 0.001, 10000, alone, err) < 0)
		return -1;
	if (*together > *alone)
		*together = *alone;
	return 0;
}

int muster_fault_h2d_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return slow_copy(&t->gpu->h2d_gbps, &t->gpu->h2d_together_gbps, value, err);
}

int muster_fault_d2h_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return slow_copy(&t->gpu->d2h_gbps, &t->gpu->d2h_together_gbps, value, err);
}

int muster_fault_ecc_uncorrected(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	long errors = 0;
	if (muster_parse_int(value, 1, 1000000000, &errors, "VALUE", err) < 0)
		return -1;
	t->gpu->ecc_uncorrected_volatile = t->gpu->ecc_uncorrected_aggregate = (double)errors;
	return 0;
}

/* "3g.20gb": the GPU is divided, and the rank has such an instance. */
static bool read_profile(const char *text, int *ret_slices, int *ret_gb)
{
	int slices = 0, gb = 0, end = 0;
	if (sscanf(text, "%1dg.%3dgb%n", &slices, &gb, &end) != 2 || end == 0 || text[end] || slices < 1 ||
		slices > 7 || gb < 1)
		return false;
	*ret_slices = slices;
	*ret_gb = gb;
	return true;
}

int muster_fault_mig(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *const states[] = { "off", "on" };
	if (!t->gpu->mig_supported)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no MIG");
	if (read_profile(value, &t->gpu->mig_slices, &t->gpu->mig_gb)) {
		t->gpu->mig = true;
		return 0;
	}
	int on = muster_parse_name(value, states, 2, "VALUE", err);
	if (on < 0)
		return -1;
	if (t->gpu->mig == (on == 1))
		return muster_fail(err, MUSTER_EUSAGE, "MIG is %s in the healthy GPU", value);
	t->gpu->mig = on == 1;
	return 0;
}
