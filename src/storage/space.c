/* space.c - is there room for the files of all ranks? */
#include "storage/space.h"

#include <sys/statvfs.h>

int muster_storage_space_check(const char *folder, int ranks, uint64_t bytes, struct muster_error *err)
{
	struct statvfs space;
	double all = (double)ranks * (double)bytes;
	if (statvfs(folder, &space) < 0)
		return 0;
	double free_bytes = (double)space.f_bavail * (double)space.f_frsize;
	if (all <= free_bytes / 2)
		return 0;
	return muster_fail(err, MUSTER_ENOTSUPPORTED,
		"%s has %.1f GB free, and %d ranks write %.1f GB: muster takes at most half of what is free", folder,
		free_bytes / 1e9, ranks, all / 1e9);
}
