/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - give a fuzzer every file of the folders and files named, each once */
#include "fuzz.h"

#include "util/file.h"
#include "muster/arena.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BYTES_MAX = 1 << 24 };

static size_t replay_file(const char *path)
{
	struct muster_error err;
	char *text;
	size_t length;
	if (muster_file_read(path, BYTES_MAX, &text, &length, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	/* without a byte behind it, so that AddressSanitizer sees who reads beyond the end */
	uint8_t *bytes = muster_realloc(NULL, length, 1);
	memcpy(bytes, text, length);
	free(text);
	fprintf(stderr, "%s\n", path); /* the last one named is the one that broke it */
	LLVMFuzzerTestOneInput(bytes, length);
	free(bytes);
	return 1;
}

static size_t replay_folder(const char *path)
{
	struct dirent **entries;
	size_t count = 0;
	int found = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < found; i++) {
		if (entries[i]->d_name[0] != '.') {
			char *file = muster_asprintf("%s/%s", path, entries[i]->d_name);
			count += replay_file(file);
			free(file);
		}
		free(entries[i]);
	}
	if (found >= 0)
		free(entries);
	return count;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	for (int i = 1; i < argc; i++) {
		struct stat status;
		bool folder = stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode);
		count += folder ? replay_folder(argv[i]) : replay_file(argv[i]);
	}
	printf("%zu inputs\n", count);
	return count > 0 ? 0 : 1;
}
