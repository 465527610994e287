/* fs_tree.c - files and directories under one root, made one after the other */
#include "sim/fs_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(struct muster_sim_tree *t, const char *what, const char *path)
{
	if (!t->failed)
		muster_fail(t->err, MUSTER_EIO, "%s %s: %s", what, path, strerror(errno));
	t->failed = true;
}

void muster_sim_tree_refuse(struct muster_sim_tree *t, const char *what, const char *text, const char *why)
{
	if (!t->failed)
		muster_fail(t->err, MUSTER_EUSAGE, "%s \"%s\": %s", what, text, why);
	t->failed = true;
}

void muster_sim_tree_enter(struct muster_sim_tree *t, const char *format, ...)
{
	va_list args;
	size_t length = strlen(t->root);
	if (t->failed)
		return;
	snprintf(t->directory, sizeof t->directory, "%s/", t->root);
	va_start(args, format);
	int more = vsnprintf(t->directory + length + 1, sizeof t->directory - length - 1, format, args);
	va_end(args);
	if (more < 0 || (size_t)more >= sizeof t->directory - length - 1) {
		errno = ENAMETOOLONG;
		fail(t, "mkdir", t->directory);
		return;
	}
	for (char *slash = t->directory + length; slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(t->directory, 0777) < 0 && errno != EEXIST)
			fail(t, "mkdir", t->directory);
		*slash = '/';
	}
	if (mkdir(t->directory, 0777) < 0 && errno != EEXIST)
		fail(t, "mkdir", t->directory);
}

FILE *muster_sim_tree_start(struct muster_sim_tree *t, const char *name)
{
	char path[sizeof t->directory + 256];
	if (t->failed)
		return NULL;
	snprintf(path, sizeof path, "%s/%s", t->directory, name);
	FILE *out = fopen(path, "wx");
	if (!out)
		fail(t, "create", path);
	return out;
}

void muster_sim_tree_finish(struct muster_sim_tree *t, const char *name, FILE *out)
{
	if (!out)
		return;
	bool bad = ferror(out);
	if (fclose(out) != 0 || bad)
		fail(t, "write", name);
}

void muster_sim_tree_put(struct muster_sim_tree *t, const char *name, const char *format, ...)
{
	va_list args;
	FILE *out = muster_sim_tree_start(t, name);
	if (!out)
		return;
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
	muster_sim_tree_finish(t, name, out);
}

void muster_sim_tree_link(struct muster_sim_tree *t, const char *name, const char *to)
{
	char path[sizeof t->directory + 256];
	if (t->failed)
		return;
	snprintf(path, sizeof path, "%s/%s", t->directory, name);
	if (symlink(to, path) < 0)
		fail(t, "link", path);
}
