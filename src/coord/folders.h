/* folders.h - what the user gave for the path of the data, looked at before a run begins */
#ifndef MUSTER_COORD_FOLDERS_H
#define MUSTER_COORD_FOLDERS_H

#include "coord/options.h"
#include "muster/error.h"

/* Whether rank 0 can write to the folder of --checkpoint, which has room for `ranks` files, and read --broadcast-file.
 * -1 with err: what is wrong, and with which option. A file system that does not answer within wait_ms is left to the
 * run, which says so. */
int muster_folders_check(const struct muster_options *options, int ranks, int wait_ms, struct muster_error *err);

#endif
