/* fault_users.c - other programs on a GPU */
#include "sim/fault_kinds.h"

#define STRANGER_PID 4242

static int put_stranger(const struct muster_fault_target *t, const char *value, double mib, struct muster_error *err)
{
	if (value && muster_fault_number(value, 0, t->gpu->memory_mib, &mib, err) < 0)
		return -1;
	t->gpu->stranger_pid = STRANGER_PID;
	t->gpu->stranger_mib = mib;
	return 0;
}

int muster_fault_stranger(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	if (put_stranger(t, value, (double)(long)(t->gpu->memory_mib / 2), err) < 0)
		return -1;
	t->gpu->memory_held_mib = t->gpu->stranger_mib;
	return 0;
}

/* The program only computes: what little memory there is of it is not taken from muster's. */
int muster_fault_stranger_late(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	t->gpu->stranger_late = true;
	return put_stranger(t, value, 700, err);
}
