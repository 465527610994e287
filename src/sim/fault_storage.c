/* fault_storage.c - the scratch of a node, and the folder that all nodes share, as one node sees it */
#include "sim/fault_kinds.h"

#include <string.h>

static struct muster_sim_volume *scratch(const struct muster_fault_target *t)
{
	return &t->node->volumes[0];
}

/* Whether the node has a scratch, and not an earlier fault that took it away. */
int muster_fault_needs_scratch(const struct muster_fault_target *t, struct muster_error *err)
{
	return t->node->volume_count > 0 && strcmp(scratch(t)->path, MUSTER_SIM_SHARED) != 0
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "the node has no scratch");
}

int muster_fault_disk_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double share;
	if (muster_fault_number(value, 0.0001, 1, &share, err) < 0)
		return -1;
	scratch(t)->read_gbps *= share;
	scratch(t)->write_gbps *= share;
	return 0;
}

int muster_fault_raid_degraded(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double disks;
	if (strcmp(scratch(t)->layout, "none") == 0)
		return muster_fail(err, MUSTER_EUSAGE, "the scratch of this machine type is on one disk");
	if (muster_fault_number(value, 1, (double)t->node->disk_count - 1, &disks, err) < 0)
		return -1;
	scratch(t)->missing_members = (int)disks;
	return 0;
}

int muster_fault_scratch_read_only(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	scratch(t)->read_only = true;
	return 0;
}

int muster_fault_scratch_full(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double percent;
	if (muster_fault_number(value, 0, 100, &percent, err) < 0)
		return -1;
	scratch(t)->free_gb = scratch(t)->gb * (100 - percent) / 100;
	return 0;
}

int muster_fault_scratch_missing(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->node->volumes++;
	t->node->volume_count--;
	return 0;
}

int muster_fault_bit_rot(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double byte;
	if (muster_fault_number(value, 1, 1e15, &byte, err) < 0)
		return -1;
	scratch(t)->flipped_at = (unsigned long long)byte;
	return 0;
}

int muster_fault_stall(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	if (strcmp(value, "read") != 0 && strcmp(value, "write") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be read or write, not \"%s\"", value);
	scratch(t)->stalls = muster_fault_keep(t, value);
	return 0;
}

/* The last one. */
static struct muster_sim_volume *shared(const struct muster_fault_target *t)
{
	return &t->node->volumes[t->node->volume_count - 1];
}

int muster_fault_needs_shared(const struct muster_fault_target *t, struct muster_error *err)
{
	return t->node->volume_count > 0 && strcmp(shared(t)->path, MUSTER_SIM_SHARED) == 0
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "the node has no shared folder");
}

int muster_fault_checkpoint_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double share;
	if (muster_fault_number(value, 0.0001, 1, &share, err) < 0)
		return -1;
	shared(t)->read_gbps *= share;
	shared(t)->write_gbps *= share;
	return 0;
}

int muster_fault_checkpoint_wrong(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double byte;
	if (muster_fault_number(value, 1, 1e15, &byte, err) < 0)
		return -1;
	shared(t)->flipped_at = (unsigned long long)byte;
	return 0;
}

int muster_fault_checkpoint_stall(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	if (strcmp(value, "read") != 0 && strcmp(value, "write") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be read or write, not \"%s\"", value);
	shared(t)->stalls = muster_fault_keep(t, value);
	return 0;
}
