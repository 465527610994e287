/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.c - hardware descriptions: what one healthy node of a machine type has
 *
 * A description has many more members than the structs here: all types are open, and only what `muster bind` needs is
 * read. A description that "extends" another is a merge patch (RFC 7386) of that one.
 */
#include "system/hardware.h"

#include "json/object.h"
#include "util/file.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_LIMIT (1 << 20)

static const struct muster_field numa_fields[] = {
	{ MUSTER_FIELD(muster_hardware_numa, os_index, INT) },
	{ MUSTER_FIELD(muster_hardware_numa, cpu_list, TEXT) },
};
static const struct muster_object_type numa_type = MUSTER_OBJECT_TYPE_OPEN(muster_hardware_numa, numa_fields);

static const struct muster_field gpu_fields[] = {
	{ MUSTER_FIELD(muster_hardware_gpu, bus_id, TEXT) },
	{ MUSTER_FIELD(muster_hardware_gpu, numa_node, INT) },
};
static const struct muster_object_type gpu_type = MUSTER_OBJECT_TYPE_OPEN(muster_hardware_gpu, gpu_fields);

static const struct muster_field host_fields[] = {
	{ MUSTER_FIELD(muster_hardware, sockets, INT), .low = 1 },
	{ MUSTER_FIELD(muster_hardware, threads_per_core, INT), .low = 1 },
};
static const struct muster_object_type host_type = MUSTER_OBJECT_TYPE_OPEN(muster_hardware, host_fields);

static const struct muster_field gpus_fields[] = {
	{ MUSTER_FIELD_AS(muster_hardware, "devices", gpus, OBJECT), .object = &gpu_type,
		MUSTER_FIELD_MANY(muster_hardware, gpu_count) },
};
static const struct muster_object_type gpus_type = MUSTER_OBJECT_TYPE_OPEN(muster_hardware, gpus_fields);

static const struct muster_field fields[] = {
	{ .key = "host", .type = MUSTER_FIELD_OBJECT, .object = &host_type },
	{ MUSTER_FIELD_AS(muster_hardware, "numa_nodes", numas, OBJECT), .object = &numa_type,
		MUSTER_FIELD_MANY(muster_hardware, numa_count) },
	{ .key = "gpu", .type = MUSTER_FIELD_OBJECT, .object = &gpus_type },
};
static const struct muster_object_type hardware_type = MUSTER_OBJECT_TYPE_OPEN(muster_hardware, fields);

/* The machine types with a description. The caller releases them with muster_names_done. */
static struct muster_names names_read(const char *directory)
{
	struct muster_names names = { 0 };
	muster_file_names(directory, ".json", alphasort, &names, NULL);
	for (size_t i = 0; i < names.count; i++)
		names.items[i][strlen(names.items[i]) - strlen(".json")] = '\0';
	return names;
}

static int fail_unknown(const char *directory, const char *sku, struct muster_error *err)
{
	char near[MUSTER_SUGGEST_MAX];
	struct muster_names names = names_read(directory);
	muster_fail(err, MUSTER_EUSAGE,
		"no hardware description of the machine type \"%s\" in %s%s (muster sim --list-skus lists all)", sku,
		directory, muster_suggest(sku, names.items, names.count, sizeof *names.items, near));
	muster_names_done(&names);
	return -1;
}

/* An unknown name is answered with the nearest names, and not with a path that does not exist. */
static int read_file(const char *directory, const char *sku, struct muster_json **ret, struct muster_error *err)
{
	char *path = muster_asprintf("%s/%s.json", directory, sku);
	int rc = -1;
	/* A SKU is a name, never a path out of the directory. */
	if (*sku == '\0' || *sku == '.' || strchr(sku, '/') || access(path, R_OK) < 0)
		rc = fail_unknown(directory, sku, err);
	else
		rc = muster_json_parse_file(path, FILE_LIMIT, ret, err);
	free(path);
	return rc;
}

/* *root becomes parent + *root. A parent that extends another itself is an error, so that there are two levels at most.
 */
static int extend(const char *directory, struct muster_json **root, struct muster_error *err)
{
	const struct muster_json *name =
		muster_json_type(*root) == MUSTER_JSON_OBJECT ? muster_json_member(*root, "extends") : NULL;
	struct muster_json *parent = NULL;
	if (!name || muster_json_type(name) != MUSTER_JSON_STRING)
		return 0; /* and who reads the fields says what is wrong */
	if (read_file(directory, muster_json_string(name), &parent, err) < 0)
		return muster_wrap(err, "$.extends");
	if (muster_json_type(parent) == MUSTER_JSON_OBJECT && muster_json_member(parent, "extends")) {
		muster_json_free(parent);
		return muster_fail(
			err, MUSTER_EUSAGE, "$.extends: \"%s\" extends another itself", muster_json_string(name));
	}
	parent = muster_json_merge(parent, *root);
	muster_json_free(*root);
	*root = parent;
	return 0;
}

int muster_hardware_load(const char *directory, const char *sku, struct muster_json **ret, struct muster_error *err)
{
	struct muster_json *root = NULL;
	if (read_file(directory, sku, &root, err) < 0)
		return -1;
	if (extend(directory, &root, err) < 0) {
		muster_json_free(root);
		return muster_wrap(err, "%s/%s.json", directory, sku);
	}
	*ret = root;
	return 0;
}

int muster_hardware_read(const char *directory, const char *sku, struct muster_arena *arena,
	struct muster_hardware *ret, struct muster_error *err)
{
	struct muster_json_reader reader = { .arena = arena, .err = err };
	struct muster_hardware hardware = { 0 };
	struct muster_json *root;
	if (muster_hardware_load(directory, sku, &root, err) < 0)
		return -1;
	int rc = muster_object_read(&reader, root, &hardware_type, &hardware);
	muster_json_free(root);
	if (rc < 0)
		return muster_wrap(err, "%s/%s.json", directory, sku);
	*ret = hardware;
	return 0;
}

const char *muster_hardware_list(const char *directory, struct muster_arena *arena)
{
	struct muster_names names = names_read(directory);
	const char *list = "";
	for (size_t i = 0; i < names.count; i++)
		list = muster_arena_printf(arena, "%s%s\n", list, names.items[i]);
	muster_names_done(&names);
	return list;
}
