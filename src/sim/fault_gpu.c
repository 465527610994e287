/* fault_gpu.c - what can be wrong with one GPU */
#include "sim/fault_kinds.h"

#include "util/text.h"

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

int muster_fault_mig(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *const states[] = { "off", "on" };
	if (!t->gpu->mig_supported)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no MIG");
	int on = muster_parse_name(value, states, 2, "VALUE", err);
	if (on < 0)
		return -1;
	if (t->gpu->mig == (on == 1))
		return muster_fail(err, MUSTER_EUSAGE, "MIG is %s in the healthy GPU", value);
	t->gpu->mig = on == 1;
	return 0;
}
