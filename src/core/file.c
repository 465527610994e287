/* file.c - files are written whole or not at all */
#include "file.h"

#include "muster/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int muster_file_open(struct muster_file *file, const char *path, struct muster_error *err)
{
	*file = (struct muster_file){ 0 };
	if (strcmp(path, "-") == 0) {
		file->out = stdout;
		return 0;
	}
	struct stat status;
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return muster_fail(err, MUSTER_EIO, "%s: is a directory, a file name is needed", path);
	char *temporary = muster_asprintf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		muster_fail(err, MUSTER_EIO, "%s: cannot create a file beside it: %s", path, strerror(errno));
		free(temporary);
		return -1;
	}
	mode_t mask = umask(0);
	umask(mask);
	FILE *out = fchmod(fd, 0666 & ~mask) == 0 ? fdopen(fd, "w") : NULL;
	if (!out) {
		muster_fail(err, MUSTER_EIO, "%s: %s", temporary, strerror(errno));
		close(fd);
		unlink(temporary);
		free(temporary);
		return -1;
	}
	*file = (struct muster_file){ .out = out, .path = muster_strdup(path), .temporary = temporary };
	return 0;
}

/* The rename is on disk only after its directory is. Some file systems refuse to sync a directory: not an error. */
static void sync_directory(const char *path)
{
	char *copy = muster_strdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

int muster_file_commit(struct muster_file *file, struct muster_error *err)
{
	if (!file->temporary) {
		if (fflush(stdout) != 0 || ferror(stdout))
			return muster_fail(err, MUSTER_EIO, "stdout: %s", strerror(errno));
		return 0;
	}
	errno = 0;
	int failed = ferror(file->out) || fflush(file->out) != 0 || fsync(fileno(file->out)) != 0;
	int why = errno;
	if (fclose(file->out) != 0 && !failed) {
		failed = 1;
		why = errno;
	}
	file->out = NULL;
	if (!failed && rename(file->temporary, file->path) != 0) {
		failed = 1;
		why = errno;
	}
	if (failed) {
		muster_fail(err, MUSTER_EIO, "%s: %s; what was there before is untouched", file->path,
			why ? strerror(why) : "write error");
		muster_file_abandon(file);
		return -1;
	}
	sync_directory(file->path);
	free(file->temporary);
	file->temporary = NULL;
	muster_file_abandon(file);
	return 0;
}

void muster_file_abandon(struct muster_file *file)
{
	if (file->out && file->out != stdout)
		fclose(file->out);
	if (file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	*file = (struct muster_file){ 0 };
}
