/* SPDX-License-Identifier: Apache-2.0 */
/* default_path.c - where the history of a user is */
#include "history/db.h"

#include "muster/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Make the folders above the file at path, each that is missing. Others can read the history of root, and not that of a
 * user. -1 with err. */
static int make_folders(char *path, struct muster_error *err)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		int rc = mkdir(path, geteuid() == 0 ? 0755 : 0700);
		if (rc < 0 && errno != EEXIST)
			return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
		*at = '/';
	}
	return 0;
}

/* Root has one history for the machine. XDG_STATE_HOME and HOME count only as absolute paths, as the XDG specification
 * asks. */
char *muster_history_default_path(bool make, struct muster_error *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path;
	if (geteuid() == 0)
		path = muster_strdup("/var/lib/muster/history.db");
	else if (state && *state == '/')
		path = muster_asprintf("%s/muster/history.db", state);
	else if (home && *home == '/')
		path = muster_asprintf("%s/.local/state/muster/history.db", home);
	else {
		muster_fail(err, MUSTER_EUSAGE, "neither XDG_STATE_HOME nor HOME is set: say where with --db PATH");
		return NULL;
	}
	if (make && make_folders(path, err) < 0) {
		free(path);
		return NULL;
	}
	return path;
}
