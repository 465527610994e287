/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the environment variables that steer CUDA, NCCL, Gloo, UCX and MPI, and where each value comes from
 *
 * Life: muster_settings_init lists the named variables as not set; the environment is added first, then NCCL's files in
 * the order in which NCCL reads them. The first source that has a variable counts, as for NCCL: `place` returns NULL
 * for one that is set already.
 *
 * Other variables that begin with NCCL_ are appended as they come, up to MUSTER_SETTINGS_OTHERS_MAX.
 */
#include "system/settings.h"

#include <string.h>

static const char *const named[] = {
	"CUDA_DEVICE_ORDER",
	"CUDA_VISIBLE_DEVICES",
	"CUDA_LAUNCH_BLOCKING",
	"NCCL_TOPO_FILE",
	"NCCL_IB_PCI_RELAXED_ORDERING",
	"NCCL_SOCKET_IFNAME",
	"GLOO_SOCKET_IFNAME",
	"NCCL_IB_HCA",
	"NCCL_IB_DISABLE",
	"NCCL_IB_SL",
	"NCCL_IB_AR_THRESHOLD",
	"NCCL_P2P_DISABLE",
	"NCCL_SHM_DISABLE",
	"NCCL_NET_GDR_LEVEL",
	"NCCL_NET_GDR_C2C",
	"NCCL_DMABUF_ENABLE",
	"NCCL_NET",
	"NCCL_MNNVL_ENABLE",
	"NCCL_CUMEM_ENABLE",
	"NCCL_NVLS_ENABLE",
	"NCCL_COLLNET_ENABLE",
	"NCCL_IGNORE_CPU_AFFINITY",
	"NCCL_ALGO",
	"NCCL_PROTO",
	"NCCL_DEBUG",
	"OMPI_MCA_coll_hcoll_enable",
	"UCX_TLS",
	"UCX_NET_DEVICES",
	"UCX_IB_PCI_RELAXED_ORDERING",
};
_Static_assert(sizeof named / sizeof *named == MUSTER_SETTINGS_NAMED, "the header counts them");

/* "NCCL_" and at least one more character; letters, digits and "_" only, MUSTER_SETTING_NAME_MAX bytes at most. */
static bool is_nccl(const char *name, size_t length)
{
	static const char prefix[] = "NCCL_";
	if (length < sizeof prefix || length > MUSTER_SETTING_NAME_MAX || memcmp(name, prefix, sizeof prefix - 1) != 0)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!(name[i] >= 'A' && name[i] <= 'Z') && !(name[i] >= 'a' && name[i] <= 'z') &&
			!(name[i] >= '0' && name[i] <= '9') && name[i] != '_')
			return false;
	return true;
}

static bool is_name(const char *text, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(text, name, length) == 0;
}

bool muster_setting_counts(const char *name, size_t length)
{
	for (size_t i = 0; i < MUSTER_SETTINGS_NAMED; i++)
		if (is_name(name, length, named[i]))
			return true;
	return is_nccl(name, length);
}

void muster_settings_init(struct muster_settings *settings, struct muster_arena *arena)
{
	*settings = (struct muster_settings){ .arena = arena, .count = MUSTER_SETTINGS_NAMED };
	for (size_t i = 0; i < MUSTER_SETTINGS_NAMED; i++)
		settings->items[i].name = named[i];
}

/* Where the value goes: NULL when it is set already, or there is no room. */
static struct muster_setting *place(struct muster_settings *settings, const char *name, size_t length)
{
	for (size_t i = 0; i < settings->count; i++)
		if (is_name(name, length, settings->items[i].name))
			return settings->items[i].value ? NULL : &settings->items[i];
	if (settings->count == sizeof settings->items / sizeof *settings->items) {
		settings->left_out++;
		return NULL;
	}
	struct muster_setting *setting = &settings->items[settings->count++];
	setting->name = muster_arena_string_n(settings->arena, name, length);
	return setting;
}

static void add(struct muster_settings *settings, const char *name, size_t name_length, const char *value,
	size_t value_length, const char *from)
{
	struct muster_setting *setting = place(settings, name, name_length);
	if (!setting)
		return;
	if (value_length > MUSTER_SETTING_VALUE_MAX)
		value_length = MUSTER_SETTING_VALUE_MAX;
	setting->value = muster_arena_string_n(settings->arena, value, value_length);
	setting->from = muster_arena_string(settings->arena, from);
}

/* Each NAME=VALUE before a separator, or before the end, whose name counts. trimmed: 0, or what may end it besides. */
static void add_all(struct muster_settings *settings, const char *text, size_t length, char separator, char trimmed,
	bool (*counts)(const char *name, size_t length), const char *from)
{
	for (const char *at = text, *end = text + length; at < end;) {
		const char *stop = memchr(at, separator, (size_t)(end - at));
		size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
		size_t seen = strnlen(at, size); /* to NCCL, which knows C's strings alone, a NUL ends the line */
		seen -= trimmed && seen > 0 && at[seen - 1] == trimmed;
		const char *equals = memchr(at, '=', seen);
		size_t name = equals ? (size_t)(equals - at) : 0;
		if (equals && counts(at, name))
			add(settings, at, name, equals + 1, seen - name - 1, from);
		at += stop ? size + 1 : size;
	}
}

void muster_settings_add_environment(struct muster_settings *settings, const char *block, size_t length)
{
	add_all(settings, block, length, '\0', '\0', muster_setting_counts, MUSTER_SETTING_ENVIRONMENT);
}

void muster_settings_add_file(
	struct muster_settings *settings, const char *text, size_t length, bool from_windows, const char *from)
{
	add_all(settings, text, length, '\n', from_windows ? '\r' : '\0', is_nccl, from);
}

const struct muster_setting *muster_settings_find(const struct muster_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->count; i++)
		if (strcmp(settings->items[i].name, name) == 0)
			return &settings->items[i];
	return NULL;
}
