/* SPDX-License-Identifier: Apache-2.0 */
/* gres.c - GPUs in what Slurm writes of generic resources
 *
 * Forms that are read, and the GPUs that they count for:
 *
 *    gpu:8                         8
 *    gpu:a100:8(IDX:0-7)           8
 *    gpu:a100                      1: a type, and no count
 *    gpu:8(S:0-1),nic:2            8
 *    gres/gpu=8, gres:gpu:8        8
 *    gpu(CNT:4)                    4: a resource without files
 *    (null)                        0
 *    a100:4,h100:2                 6, only of a list that has only GPUs (`alone`)
 *
 * resource_read takes one resource of the list apart from its end: first the parentheses, then the count behind the
 * last ':' or '='.
 */
#include "system/gres.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

/* "8", "2K": a number from 0 to INT_MAX that ends exactly at `end`. K, M and G are powers of 1024, in either case. */
static bool count_read(const char *at, const char *end, long *ret)
{
	static const char suffixes[] = "kKmMgG";
	char *after;
	if (at == end || *at < '0' || *at > '9')
		return false;
	unsigned long long count = strtoull(at, &after, 10);
	const char *suffix = after < end ? strchr(suffixes, *after) : NULL;
	for (long power = suffix ? (suffix - suffixes) / 2 : -1; power >= 0 && count <= INT_MAX; power--)
		count *= 1024;
	*ret = (long)count;
	return after + (suffix != NULL) == end && count <= INT_MAX;
}

/* The GPUs of one resource, which has no comma outside of parentheses; -1 if it is none. */
static long resource_read(const char *at, const char *end, bool alone)
{
	static const char gpu[] = "gpu";
	long count = 1;
	const char *open = end > at + 1 && end[-1] == ')' ? memrchr(at, '(', (size_t)(end - at)) : NULL;
	if (open == at) /* "(null)" */
		return 0;
	if (open)
		end = open;
	if (end - at > 5 && (strncmp(at, "gres/", 5) == 0 || strncmp(at, "gres:", 5) == 0))
		at += 5;
	size_t name = strcspn(at, ":=,("), parts = 1;
	const char *last = at;
	for (const char *c = at; c < end; c++)
		if (*c == ':' || *c == '=') {
			parts++;
			last = c + 1;
		}
	bool is_gpu = name == strlen(gpu) && strncmp(at, gpu, name) == 0;
	if (!alone && !is_gpu)
		return name > 0 ? 0 : -1;
	if (open && strncmp(open, "(CNT:", 5) == 0) /* of a resource without files */
		return count_read(open + 5, strchr(open, ')'), &count) ? count : -1;
	if (count_read(last, end, &count))
		return alone || parts > 1 ? count : -1;
	/* a type at the end of the resource, or nothing but its name */
	return !alone && last < end && parts <= 2 ? 1 : -1;
}

/* The sum over the resources of a list. Commas inside parentheses separate no resources: "gpu:4(IDX:0,2-4)". */
static int list_read(const char *list, size_t length, bool alone, long *ret, struct muster_error *err)
{
	const char *end = list + length;
	long sum = 0;
	for (const char *at = list, *next; at <= end; at = next + 1) {
		bool inside = false;
		for (next = at; next < end && (inside || *next != ','); next++)
			inside = *next == '(' || (inside && *next != ')');
		long count = resource_read(at, next, alone);
		sum += count;
		if (count < 0 || sum > INT_MAX)
			return muster_fail(err, MUSTER_EIO, "not a number of GPUs: \"%.*s\"",
				length < 100 ? (int)length : 100, list);
	}
	*ret = sum;
	return 0;
}

int muster_gres_gpus(const char *list, size_t length, long *ret, struct muster_error *err)
{
	return list_read(list, length, false, ret, err);
}

int muster_gres_gpus_alone(const char *list, long *ret, struct muster_error *err)
{
	return list_read(list, strlen(list), true, ret, err);
}

/* record has "Nodes=a GRES=gpu:8 ..." once for each group of nodes. Each group must have as many GPUs, since a step has
 * one number of ranks for each node. */
int muster_gres_of_job(const char *record, long *ret, struct muster_error *err)
{
	const char *nodes = "", *first = "";
	int nodes_length = 0, first_length = 0;
	long found = -1, count;
	for (const char *at = record, *end; *(at += strspn(at, blanks)); at = end) {
		end = at + strcspn(at, blanks);
		if (strncmp(at, "Nodes=", 6) == 0) {
			nodes = at + 6;
			nodes_length = (int)(end - nodes);
		}
		if (strncmp(at, "GRES=", 5) != 0)
			continue;
		count = 0;
		if (end > at + 5 && muster_gres_gpus(at + 5, (size_t)(end - at) - 5, &count, err) < 0)
			return muster_wrap(err, "GRES of nodes %.*s", nodes_length, nodes);
		if (found >= 0 && count != found)
			return muster_fail(err, MUSTER_EUSAGE,
				"this job has %ld GPUs on %.*s and %ld on %.*s, and needs as many on each node", found,
				first_length, first, count, nodes_length, nodes);
		found = count;
		first = nodes;
		first_length = nodes_length;
	}
	if (found <= 0)
		return muster_fail(
			err, MUSTER_EUSAGE, "this job has no GPUs; request whole nodes, or use --gpus-per-node");
	*ret = found;
	return 0;
}
