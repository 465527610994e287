/* SPDX-License-Identifier: Apache-2.0 */
/* textfile.c - muster.prom in the directory of node_exporter's textfile collector
 *
 * The collector reads all files of the directory whose names end in ".prom", at any moment. So the text is written
 * under another name, made readable for the collector's user, and renamed (util/file.h). A run that is asked for the
 * file checks the directory before it measures (muster_report_check_textfile).
 */
#include "muster/report.h"
#include "muster/arena.h"
#include "util/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXTFILE_NAME "muster.prom"
enum { READABLE_FOR_ALL = 0644 }; /* node_exporter has a user of its own */

/* An error when the name is taken by something else than a regular file. One that does not exist is fine. The directory
 * may be another user's: a pipe or a device there must not be written to. */
static int check_file(const char *path, struct muster_error *err)
{
	struct stat status;
	if (stat(path, &status) < 0 || S_ISREG(status.st_mode))
		return 0;
	return muster_fail(err, MUSTER_EIO, "%s: not a regular file", path);
}

int muster_report_check_textfile(const char *directory, struct muster_error *err)
{
	struct stat status;
	if (stat(directory, &status) < 0)
		return muster_fail(err, MUSTER_EIO, "%s: %s", directory, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return muster_fail(err, MUSTER_EIO, "%s: a directory is needed", directory);
	char *path = muster_asprintf("%s/" TEXTFILE_NAME, directory);
	int rc = check_file(path, err) < 0 ? -1 : muster_file_check(path, err);
	free(path);
	return rc;
}

int muster_report_write_textfile(const struct muster_report *report, const char *directory, struct muster_error *err)
{
	struct muster_file file;
	char *path = muster_asprintf("%s/" TEXTFILE_NAME, directory);
	int rc = check_file(path, err) < 0 ? -1 : muster_file_open(&file, path, err);
	if (rc == 0) {
		muster_report_print_prometheus(report, file.out);
		if (fchmod(fileno(file.out), READABLE_FOR_ALL) < 0) {
			rc = muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
			muster_file_abandon(&file);
		} else {
			rc = muster_file_commit(&file, err);
		}
	}
	free(path);
	return rc;
}
