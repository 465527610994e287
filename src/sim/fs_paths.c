/* fs_paths.c - the applications' folder of a simulated node */
#include "sim/fs_paths.h"

#include <string.h>

const char *const muster_sim_paths[] = { "/shared/apps", "/shared/apps/pytorch_env",
	"/shared/apps/pytorch_env/VERSION" };

static bool is_in(const char *const *list, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], path) == 0)
			return true;
	return false;
}

/* What is in a folder that is missing is not there either. */
void muster_sim_paths_write(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	for (size_t i = 0; i < sizeof muster_sim_paths / sizeof *muster_sim_paths; i++) {
		const char *path = muster_sim_paths[i], *name = strrchr(path, '/') + 1;
		bool differs = is_in(node->paths_other, node->path_other_count, path);
		bool is_file = i + 1 == sizeof muster_sim_paths / sizeof *muster_sim_paths;
		if (is_in(node->paths_missing, node->path_missing_count, path))
			return;
		muster_sim_tree_enter(t, "%s", is_file ? muster_sim_paths[i - 1] + 1 : path + 1);
		if (is_file)
			muster_sim_tree_put(t, name, differs ? "2.8.1" : "2.9.0"); /* of one size */
		else
			muster_sim_tree_put(t, "README", "%s", name);
		if (differs && !is_file)
			muster_sim_tree_put(t, "old", "left by an update");
	}
}
