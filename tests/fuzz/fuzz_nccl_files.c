/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_nccl_files.c - NCCL's own files of any bytes: its topology (XML), its settings, and the environment
 */
#include "fuzz.h"

#include "vendor/nccl_topo.h"
#include "system/settings.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

static void check_topo(const struct muster_nccl_topo *topo)
{
	FUZZ_CHECK(topo->node_count <= MUSTER_NCCL_TOPO_NODES_MAX && topo->gpu_count <= MUSTER_NCCL_TOPO_GPUS_MAX,
		"%zu nodes, %zu GPUs", topo->node_count, topo->gpu_count);
	for (size_t i = 0; i < topo->node_count; i++) {
		char *list = topo->nodes[i].cpus ? muster_cpuset_list(topo->nodes[i].cpus) : NULL;
		FUZZ_CHECK(topo->nodes[i].numa_node >= -1 && topo->nodes[i].numa_node <= 65535, "%d",
			topo->nodes[i].numa_node);
		free(list);
	}
	for (size_t i = 0; i < topo->gpu_count; i++) {
		const char *id = topo->gpus[i].bus_id;
		FUZZ_CHECK(*id && id[strspn(id, "0123456789abcdef:.")] == '\0', "GPU %zu is \"%s\"", i, id);
		FUZZ_CHECK(topo->gpus[i].numa_node >= -1 && topo->gpus[i].numa_node <= 65535, "GPU %zu", i);
	}
}

static void try_topo(const char *text, size_t size)
{
	struct muster_nccl_topo *topo = muster_calloc(1, sizeof *topo);
	struct muster_error err;
	if (muster_nccl_topo_parse(text, size, topo, &err) == 0) {
		check_topo(topo);
		muster_nccl_topo_done(topo);
	} else {
		fuzz_check_error(&err);
		FUZZ_CHECK(topo->node_count == 0 && topo->gpu_count == 0, "outputs are written only on success");
	}
	free(topo);
}

static void check_settings(const struct muster_settings *settings)
{
	FUZZ_CHECK(settings->count >= MUSTER_SETTINGS_NAMED &&
			   settings->count <= MUSTER_SETTINGS_NAMED + MUSTER_SETTINGS_OTHERS_MAX,
		"%zu settings", settings->count);
	for (size_t i = 0; i < settings->count; i++) {
		const struct muster_setting *setting = &settings->items[i];
		FUZZ_CHECK(muster_setting_counts(setting->name, strlen(setting->name)), "%s", setting->name);
		FUZZ_CHECK(
			muster_settings_find(settings, setting->name) == setting, "%s is there twice", setting->name);
		FUZZ_CHECK(i < MUSTER_SETTINGS_NAMED || setting->value, "%s", setting->name);
		FUZZ_CHECK(!setting->value == !setting->from, "%s", setting->name);
		FUZZ_CHECK(!setting->value || strlen(setting->value) <= MUSTER_SETTING_VALUE_MAX, "%s", setting->name);
	}
}

/* What is set stays: the same again changes nothing. */
static void try_settings(const char *text, size_t size)
{
	struct muster_settings settings, again;
	struct muster_arena *arena = muster_arena_new();
	muster_settings_init(&settings, arena);
	muster_settings_add_environment(&settings, text, size);
	check_settings(&settings);
	muster_settings_add_file(&settings, text, size, false, "/etc/nccl.conf");
	check_settings(&settings);
	again = settings;
	muster_settings_add_environment(&again, text, size);
	muster_settings_add_file(&again, text, size, true, "/another");
	FUZZ_CHECK(memcmp(again.items, settings.items, sizeof again.items) == 0, "what was set has changed");
	muster_arena_free(arena);
}

static void try_words(const uint8_t *bytes, size_t size)
{
	struct muster_error err;
	char *text = fuzz_string(bytes, size);
	hwloc_bitmap_t cpus = muster_cpuset_parse_words(text, &err);
	if (cpus) {
		char *mask = muster_cpuset_mask(cpus);
		hwloc_bitmap_t again = muster_cpuset_parse_mask(mask, &err);
		FUZZ_CHECK(again, "%s", err.text);
		FUZZ_CHECK(hwloc_bitmap_isequal(cpus, again), "%s is not %s", text, mask);
		hwloc_bitmap_free(again);
		hwloc_bitmap_free(cpus);
		free(mask);
	} else {
		fuzz_check_error(&err);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	try_topo((const char *)bytes, size);
	try_settings((const char *)bytes, size);
	try_words(bytes, size);
	return 0;
}
