/* SPDX-License-Identifier: Apache-2.0 */
/* recognise.c - which of the known machine types a run was measured on
 *
 * Better no answer than a wrong one: nodes that differ, or GPUs that fit two files, are not decided here. A node is
 * seen by its vmSize, or, when no node of the run knows a vmSize, by its GPUs: never some nodes by one and some by the
 * other.
 *
 * Examples, with the files a.json (vmSize A, eight A100) and h.json (vmSize H, eight H100), and two nodes:
 *   A, and nothing              a.json: a node that says nothing is taken for what the other one is
 *   A, and H                    none: the nodes have different machine types
 *   A, and X                    none, whatever GPUs the node X has
 *   no vmSize, 8 and 7 A100     a.json: the second node fits no file, and may have lost a GPU
 *   no vmSize, 8 A100, 8 H100   none
 */
#include "expect/recognise.h"
#include "muster/run_data.h"
#include "util/file.h"
#include "expect/load.h"
#include "expect/describe.h"
#include "muster/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- loading ---- */

/* Whether the file itself says how its machine is recognised. What it inherits does not count: a site's file that
 * extends a machine's would be mistaken for it. */
static int identifies(const char *path, bool *ret, struct muster_error *err)
{
	struct muster_json *json;
	if (muster_layer_read(path, &json, err) < 0)
		return -1;
	*ret = muster_json_type(json) == MUSTER_JSON_OBJECT && muster_json_member(json, "identify");
	muster_json_free(json);
	return 0;
}

/* Take the file in, if its machine can be recognised. It is loaded without the overlay, and once more with it; an
 * overlay that does not fit is no error yet (misfit): it may be for another machine type. */
static int add_candidate(struct muster_candidates *all, const char *path, const char *overlay, struct muster_error *err)
{
	struct muster_candidate one = { 0 };
	struct muster_expect changed;
	bool own = false;
	if (identifies(path, &own, err) < 0 || (own && muster_expect_load("", path, NULL, &one.expect, err) < 0))
		return -1;
	if (one.expect.vm_size_count == 0 && one.expect.gpu_name_count == 0) {
		muster_expect_done(&one.expect);
		return 0;
	}
	if (overlay && muster_expect_load("", path, overlay, &changed, &one.misfit) == 0) {
		muster_expect_done(&one.expect);
		one.expect = changed;
		one.misfit.code = MUSTER_OK;
	}
	all->items = muster_realloc(all->items, all->count + 1, sizeof *all->items);
	all->items[all->count++] = one;
	return 0;
}

/* An overlay that fits no machine at all is a mistake of the overlay's. */
static int check_overlay(const struct muster_candidates *all, struct muster_error *err)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].misfit.code == MUSTER_OK)
			return 0;
	if (all->count == 0)
		return 0;
	*err = all->items[0].misfit;
	return -1;
}

int muster_candidates_load(
	const char *config_dir, const char *overlay, struct muster_candidates *ret, struct muster_error *err)
{
	struct muster_candidates all = { 0 };
	struct muster_names names;
	int failed = 0;
	if (muster_file_names(config_dir, ".json", alphasort, &names, err) < 0)
		return muster_fail(err, MUSTER_EUSAGE, "%s: %s", config_dir, strerror(errno));
	for (size_t i = 0; i < names.count && !failed; i++) {
		char *path = muster_asprintf("%s/%s", config_dir, names.items[i]);
		failed = add_candidate(&all, path, overlay, err) < 0;
		free(path);
	}
	muster_names_done(&names);
	if (failed || check_overlay(&all, err) < 0) {
		muster_candidates_done(&all);
		return -1;
	}
	*ret = all;
	return 0;
}

void muster_candidates_done(struct muster_candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++)
		muster_expect_done(&candidates->items[i].expect);
	free(candidates->items);
	*candidates = (struct muster_candidates){ 0 };
}

/* ---- recognising ---- */

/* The metric's sample; NULL when there is none or it is null. */
static const struct muster_sample *find(const struct muster_samples *samples, const char *metric)
{
	const struct muster_sample *sample = muster_sample_named(samples, metric);
	return sample && sample->value.type != MUSTER_NULL ? sample : NULL;
}

static bool listed(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(name, list[i]) == 0)
			return true;
	return false;
}

/* What a node's own facts make of it. */
struct view {
	const char *key;  /* nodes with the same key are the same: what it shows, for people; NULL: it shows nothing */
	const char *fits; /* names of the files that it fits, ", " between them; "" for none */
	size_t candidate; /* the first of them */
	size_t fit_count;
};

/* Whether every GPU that was named on the node is one of these, and there are as many. */
static bool gpus_fit(const struct muster_node *node, double count, const struct muster_expect *expect)
{
	if (expect->gpu_count != 0 && (double)expect->gpu_count != count)
		return false;
	for (size_t r = 0; r < node->rank_count; r++) {
		const struct muster_sample *name = find(&node->ranks[r].samples, "gpu.name");
		if (name && !listed(name->value.string, expect->gpu_names, expect->gpu_name_count))
			return false;
	}
	return true;
}

/* The node by its vmSize, or by its GPUs. */
static struct view make_view(const struct muster_node *node, bool by_size, const struct muster_candidates *candidates,
	struct muster_arena *arena)
{
	const struct muster_sample *size = find(&node->samples, "node.vm_size"), *name = NULL;
	const struct muster_sample *count = find(&node->samples, "node.gpu_count");
	struct view view = { .fits = "" };
	for (size_t r = 0; r < node->rank_count && !name; r++)
		name = find(&node->ranks[r].samples, "gpu.name");
	if (by_size ? !size : !count || !name)
		return view;
	view.key = by_size ? muster_arena_printf(arena, "vmSize %s", size->value.string)
			   : muster_arena_printf(arena, "%.0f x %s", count->value.number, name->value.string);
	for (size_t i = 0; i < candidates->count; i++) {
		const struct muster_expect *expect = &candidates->items[i].expect;
		if (by_size ? !listed(size->value.string, expect->vm_sizes, expect->vm_size_count)
			    : !gpus_fit(node, count->value.number, expect))
			continue;
		if (view.fit_count++ == 0)
			view.candidate = i;
		view.fits = muster_arena_printf(arena, "%s%s%s", view.fits, *view.fits ? ", " : "", expect->name);
	}
	return view;
}

/* "vmSize A on n1, n2; vmSize B on n3", of the views that speak; with what each is taken for, when that differs. */
static const char *views_text(
	const struct muster_run *run, const struct view *views, bool taken_for, struct muster_arena *arena)
{
	const char **names = muster_calloc(run->node_count, sizeof *names), *text = "";
	for (size_t i = 0; i < run->node_count; i++) {
		size_t count = 0;
		bool told = !views[i].key;
		for (size_t j = 0; j < i && !told; j++)
			told = views[j].key == views[i].key; /* the arena has each string once */
		for (size_t j = i; j < run->node_count && !told; j++)
			if (views[j].key == views[i].key)
				names[count++] = run->nodes[j].name;
		if (count == 0)
			continue;
		text = muster_arena_printf(arena, "%s%s%s on %s", text, *text ? "; " : "", views[i].key,
			muster_describe_nodes(names, count, arena));
		if (taken_for)
			text = muster_arena_printf(arena, "%s (%s%s)", text,
				*views[i].fits ? "detected as " : "no file fits", views[i].fits);
	}
	free(names);
	return text;
}

/* The one machine type that the views agree on, as the place of a node that shows it. Nodes that show nothing do not
 * count. strict (by vmSize): a node that fits no file counts as a machine of another kind. Not strict (by GPUs): it
 * does not count, and may be a broken machine of this type. -1 where two nodes differ, where no file fits, and where
 * several files fit. */
static int find_common(
	const struct muster_run *run, const struct view *views, bool strict, size_t *ret_node, struct muster_error *err)
{
	const struct view *chosen = NULL;
	for (size_t i = 0; i < run->node_count; i++) {
		const struct view *view = &views[i];
		if (!view->key || (!strict && view->fit_count == 0))
			continue;
		if (chosen && (chosen->fit_count == 0 || view->fit_count == 0 ? chosen->key != view->key
									      : chosen->fits != view->fits))
			return muster_fail(err, MUSTER_ENOTSUPPORTED, "the nodes have different machine types: %s",
				views_text(run, views, true, run->arena));
		if (!chosen) {
			chosen = view;
			*ret_node = i;
		}
	}
	if (!chosen || chosen->fit_count == 0) {
		const char *seen = views_text(run, views, false, run->arena);
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "no expectation file fits this machine (%s)",
			*seen ? seen : "neither the metadata service nor the GPUs identify it");
	}
	if (chosen->fit_count > 1)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"more than one expectation file fits this machine (%s): %s", chosen->key, chosen->fits);
	return 0;
}

int muster_recognise(const struct muster_run *run, const struct muster_candidates *candidates, size_t *ret_index,
	const char **ret_how, struct muster_error *err)
{
	struct view *views = muster_calloc(run->node_count + 1, sizeof *views);
	bool sized = false;
	size_t node = 0;
	for (size_t i = 0; i < run->node_count; i++) {
		views[i] = make_view(&run->nodes[i], true, candidates, run->arena);
		sized = sized || views[i].key;
	}
	for (size_t i = 0; i < run->node_count && !sized; i++)
		views[i] = make_view(&run->nodes[i], false, candidates, run->arena);
	int result = find_common(run, views, sized, &node, err);
	if (result == 0) {
		*ret_index = views[node].candidate;
		*ret_how = muster_arena_printf(run->arena, "%s%s", views[node].key,
			sized ? " of the metadata service" : " on each node (no metadata service)");
	}
	free(views);
	return result;
}
