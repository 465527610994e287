/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c - the language of faults: what is written, what it is about, and what is known
 *
 * muster_sim_faults_apply() takes the faults in the order given. Each goes through these steps, and the first that
 * fails refuses the whole scenario with a message that begins with the fault's text:
 *
 *   apply()          cut KIND@WHERE=VALUE up, find the kind's row, take VALUE or the row's default
 *   find()           WHERE, in the form that the row asks for, becomes pointers into the cluster
 *   strike()         for the place, or for each GPU of a node:
 *     check()          can the fault exist and show on this machine type?
 *     read_number()    VALUE as a number within the row's bounds, or as one of the row's words
 *     set()            the field of the row
 *     change(), apply()    what the row's functions do
 *
 * After the last fault, sweep() takes out of each node what faults have marked as missing. Until then such a GPU or
 * port stays in its list, so that every WHERE counts in the healthy cluster, whatever came before.
 */
#include "sim/fault.h"

#include "muster/probe.h"
#include "muster/report.h"
#include "muster/run.h"

#include "sim/scenario.h"
#include "util/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const where_forms[] = {
	[AT_NODE] = "node1",
	[AT_GPU] = "node1[/gpu4]",
	[AT_PORT] = "node1/mlx5_ib3",
	[AT_RANK] = "rank5",
	[AT_NUMA] = "node1/numa0",
	[AT_SCRATCH] = "node1",
	[AT_FOLDER] = "node1",
	[AT_NODE_OR_GPU] = "node1[/gpu4]",
};
_Static_assert(sizeof where_forms / sizeof *where_forms == AT_COUNT, "a form for each WHERE");

void muster_sim_fault_kinds_print(FILE *out)
{
	for (size_t i = 0; i < muster_fault_kind_count; i++) {
		const struct muster_fault *kind = &muster_fault_kinds[i];
		char form[128];
		snprintf(form, sizeof form, "%s@%s%s%s%s", kind->name, where_forms[kind->where],
			kind->value ? "[=" : "", kind->value ? kind->value : "", kind->value ? "]" : "");
		fprintf(out, "  %-36s %s", form, kind->help);
		if (kind->value && kind->default_value)
			fprintf(out, " (default: %s)", kind->default_value);
		fprintf(out, "\n");
	}
}

static const struct muster_fault *find_kind(const char *name, size_t length)
{
	for (size_t i = 0; i < muster_fault_kind_count; i++)
		if (strlen(muster_fault_kinds[i].name) == length &&
			strncmp(muster_fault_kinds[i].name, name, length) == 0)
			return &muster_fault_kinds[i];
	return NULL;
}

static int unknown_fault(const char *name, struct muster_error *err)
{
	char near[MUSTER_SUGGEST_MAX];
	return muster_fail(err, MUSTER_EUSAGE, "there is no such fault%s (muster sim --list-faults shows all)",
		muster_suggest(name, muster_fault_kinds, muster_fault_kind_count, sizeof *muster_fault_kinds, near));
}

/* What is written with a number: "node12". */
struct numbered {
	const char *word, *what, *form; /* in front of the number; what such a thing is called; an example */
	size_t first;                   /* number of the first one */
};
static const struct numbered node_form = { "node", "node", "node1", 1 };
static const struct numbered gpu_form = { "gpu", "GPU", "gpu4 (CUDA index)", 0 };
static const struct numbered numa_form = { "numa", "NUMA node", "numa0", 0 };
static const struct numbered rank_form = { "rank", "rank", "rank5", 0 };

/* The index, from 0, of one of `count`, when text has exactly this form: "node2" gives 1. A number that no thing has is
 * an error that says which numbers there are. */
static int find_numbered(
	const struct numbered *kind, size_t count, const char *text, size_t *ret, struct muster_error *err)
{
	size_t length = strlen(kind->word);
	long number;
	if (strncmp(text, kind->word, length) != 0 || text[length] < '0' || text[length] > '9' ||
		muster_parse_int(text + length, 0, INT32_MAX, &number, kind->word, NULL) < 0)
		return muster_fail(
			err, MUSTER_EUSAGE, "\"%s\" is not a %s: use the form %s", text, kind->what, kind->form);
	*ret = (size_t)number - kind->first; /* node0 is none of them either */
	if (*ret < count)
		return 0;
	if (kind == &numa_form)
		return muster_fail(err, MUSTER_EUSAGE, "%s does not exist: the node has %zu NUMA nodes", text, count);
	return muster_fail(err, MUSTER_EUSAGE, "%s does not exist: %ss are %s%zu to %s%zu", text, kind->what,
		kind->word, kind->first, kind->word, kind->first + count - 1);
}

static int find_port(struct muster_fault_target *t, const char *text, struct muster_error *err)
{
	for (size_t i = 0; i < t->node->port_count && !t->port; i++)
		if (strcmp(t->node->ports[i].device, text) == 0)
			t->place = t->port = &t->node->ports[i];
	if (t->port)
		return 0;
	size_t count = t->node->port_count;
	return muster_fail(err, MUSTER_EUSAGE, "the node has no RDMA device \"%s\"%s%s%s%s", text,
		count ? ": its devices are " : "", count ? t->node->ports[0].device : "", count > 1 ? " to " : "",
		count > 1 ? t->node->ports[count - 1].device : "");
}

/* The folder is the last volume. The scratch is the first, unless a volume is missing: only it can be taken away. */
static int find_volume(struct muster_fault_target *t, bool folder, struct muster_error *err)
{
	size_t count = t->node->volume_count;
	if (!folder && count < (t->node->temp_disk_gb > 0 ? 3 : 2))
		return muster_fail(err, MUSTER_EUSAGE,
			"the scratch is missing: this fault must come before scratch-missing or disk-missing");
	t->place = t->volume = &t->node->volumes[folder ? count - 1 : 0];
	return 0;
}

/* Find what WHERE names, in the form that the fault takes: sets t->place, t->node and the pointer of the part. where is
 * changed: its '/' becomes the end of the node's name.
 *
 *   the row has       "node1"      "node1/..."        "rank5"
 *   AT_GPU            all GPUs     the GPU            error
 *   AT_NODE_OR_GPU    the node     the GPU            error
 *   AT_PORT           error        the device         error
 *   AT_NUMA           error        the NUMA node      error
 *   AT_RANK           error        error              the rank, and its node
 *   all others        the node     error              error
 */
static int find(struct muster_fault_target *t, char *where, struct muster_error *err)
{
	enum muster_fault_where form = t->fault->where;
	char *slash = strchr(where, '/');
	if ((form == AT_NODE_OR_GPU || form == AT_GPU) && (slash || strncmp(where, "rank", 4) != 0))
		form = slash ? AT_GPU : AT_NODE;
	bool has_part = form == AT_GPU || form == AT_PORT || form == AT_NUMA;
	if ((slash != NULL) != has_part || (strncmp(where, "rank", 4) == 0) != (form == AT_RANK))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a place for this fault: use the form %s", where,
			where_forms[form]);
	size_t index;
	if (form == AT_RANK) {
		if (find_numbered(&rank_form, t->cluster->rank_count, where, &index, err) < 0)
			return -1;
		t->place = t->rank = &t->cluster->ranks[index];
		t->node = &t->cluster->nodes[t->rank->node];
		return 0;
	}
	if (slash)
		*slash++ = '\0';
	if (find_numbered(&node_form, t->cluster->node_count, where, &index, err) < 0)
		return -1;
	t->place = t->node = &t->cluster->nodes[index];
	if (form == AT_PORT)
		return find_port(t, slash, err);
	if (form == AT_SCRATCH || form == AT_FOLDER)
		return find_volume(t, form == AT_FOLDER, err);
	if (form == AT_GPU) {
		if (find_numbered(&gpu_form, t->node->gpu_count, slash, &index, err) < 0)
			return -1;
		t->place = t->gpu = &t->node->gpus[index]; /* in CUDA's order, until sweep() */
	} else if (form == AT_NUMA) {
		if (find_numbered(&numa_form, t->node->numa_count, slash, &index, err) < 0)
			return -1;
		t->place = t->numa = &t->node->numas[index];
	}
	return 0;
}

int muster_fault_number(const char *value, double low, double high, double *ret, struct muster_error *err)
{
	double number = 0;
	if (muster_parse_double(value, &number, "VALUE", err) < 0)
		return -1;
	if (!(number >= low && number <= high))
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be from %g to %g, not %s", low, high, value);
	*ret = number;
	return 0;
}

const char *muster_fault_until(const struct muster_fault_target *t, const char *text, const char *end)
{
	return muster_arena_string_n(t->cluster->arena, text, end ? (size_t)(end - text) : strlen(text));
}

void muster_fault_append(const struct muster_fault_target *t, const char ***list, size_t *count, const char *text)
{
	const char **longer = muster_sim_copy(t->cluster->arena, *list, *count, sizeof *longer);
	longer[(*count)++] = text;
	*list = longer;
}

/* Refuse a fault that the machine type cannot have, and a fault that could not show: NVML does not answer the function
 * of the row (`answer`) for this GPU, as on a vGPU. */
static int check(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *function = t->fault->answer, *lacked;
	if (function && t->gpu && muster_text_among(function, t->gpu->unsupported, t->gpu->unsupported_count))
		return muster_fail(
			err, MUSTER_EUSAGE, "this GPU does not support %s, so the fault cannot show", function);
	lacked = muster_fault_lack(t);
	return lacked ? muster_fail(err, MUSTER_EUSAGE, "%s", lacked) : 0;
}

/* t->number becomes VALUE as the number that the fault takes, or VALUE's place in the fault's words; 0 for a fault that
 * takes no number. */
static int read_number(struct muster_fault_target *t, struct muster_error *err)
{
	const struct muster_fault *fault = t->fault;
	long number = 0;
	if (fault->words) {
		number = muster_parse_name(t->value, fault->words, fault->word_count, "VALUE", err);
		if (number < 0)
			return -1;
	} else if (t->value && (fault->set == SET_NUMBER || fault->set == SET_WHOLE)) {
		return muster_fault_number(t->value, fault->low, fault->high, &t->number, err);
	} else if (t->value && fault->set == SET_INT &&
		   muster_parse_int(t->value, (long)fault->low, (long)fault->high, &number, "VALUE", err) < 0) {
		return -1;
	}
	t->number = (double)number;
	return 0;
}

/* Write VALUE into the field that the row names, at the row's offset in the struct t->place. The row's macros
 * (fault_kinds.c) take offset and size from the field itself. An INT and a WHOLE go into an int or into an unsigned
 * long long, by that size. */
static void set(const struct muster_fault_target *t)
{
	const struct muster_fault *fault = t->fault;
	char *place = t->place;
	void *field = place + fault->offset;
	if (fault->size == 0)
		return;
	switch (fault->set) {
	case SET_NOTHING: break;
	case SET_CLEARED: memset(field, 0, fault->size); break;
	case SET_TRUE: *(bool *)field = true; break;
	case SET_TEXT: *(const char **)field = t->value; break;
	case SET_APPENDED:
		muster_fault_append(t, field, (size_t *)(void *)(place + fault->count_offset), t->value);
		break;
	case SET_NUMBER: *(double *)field = t->number; break;
	case SET_INT:
	case SET_WHOLE:
		if (fault->size == sizeof(int))
			*(int *)field = (int)t->number;
		else
			*(unsigned long long *)field = (unsigned long long)t->number;
	}
}

/* Apply the fault to one place. */
static int strike(struct muster_fault_target *t, struct muster_error *err)
{
	if (check(t, err) < 0 || read_number(t, err) < 0)
		return -1;
	set(t);
	if (t->fault->change)
		t->fault->change(t);
	return t->fault->apply ? t->fault->apply(t, err) : 0;
}

/* Apply one fault. text is a copy that may be cut up. VALUE begins after the first '=', and may have others in it:
 * "env@node1=NCCL_TOPO_FILE=/tmp/mine.xml". */
static int apply(struct muster_sim_cluster *cluster, char *text, struct muster_error *err)
{
	char *where = strchr(text, '@');
	if (!where)
		return muster_fail(err, MUSTER_EUSAGE, "must have the form KIND@WHERE or KIND@WHERE=VALUE");
	*where++ = '\0';
	const struct muster_fault *fault = find_kind(text, strlen(text));
	if (!fault)
		return unknown_fault(text, err);
	char *value = strchr(where, '=');
	if (value)
		*value++ = '\0';
	if (value && !fault->value)
		return muster_fail(err, MUSTER_EUSAGE, "this fault takes no VALUE");
	if (value && *value == '\0')
		return muster_fail(err, MUSTER_EUSAGE, "VALUE (%s) is empty", fault->value);
	struct muster_fault_target t = { .fault = fault, .cluster = cluster, .place = cluster };
	t.value = muster_arena_string(cluster->arena, value ? value : fault->default_value);
	if (find(&t, where, err) < 0)
		return -1;
	if (fault->where != AT_GPU || t.gpu || !t.node)
		return strike(&t, err);
	for (size_t i = 0; i < t.node->gpu_count; i++) { /* a fault of GPUs at a node: of each of them */
		t.place = t.gpu = &t.node->gpus[i];
		if (strike(&t, err) < 0)
			return -1;
	}
	return 0;
}

/* Take out what is missing, and count the rest anew as CUDA and NVML would. Faults only mark it (no bus id, no PCI
 * address), so that gpu4 in a later fault is the same GPU as before. A GPU that the kernel shows and no library does is
 * moved to unseen_gpus, which only the files of the node have (fs.c). */
static void sweep(struct muster_arena *arena, struct muster_sim_node *node)
{
	size_t gpus = 0, ports = 0, unseen = 0;
	node->unseen_gpus = muster_arena_alloc(arena, node->gpu_count * sizeof *node->unseen_gpus);
	for (size_t i = 0; i < node->gpu_count; i++)
		if (node->gpus[i].bus_id && (node->gpus[i].off_the_bus || node->gpus[i].hidden ||
						    *node->gpus[i].driver || node->gpus[i].excluded)) {
			node->unseen_gpus[unseen++] = node->gpus[i];
		} else if (node->gpus[i].bus_id) {
			node->gpus[gpus] = node->gpus[i];
			node->gpus[gpus].cuda_index = node->gpus[gpus].nvml_index = (int)gpus;
			gpus++;
		}
	for (size_t i = 0; i < node->port_count; i++)
		if (node->ports[i].pci)
			node->ports[ports++] = node->ports[i];
	node->gpu_count = gpus;
	node->unseen_gpu_count = unseen;
	node->port_count = ports;
}

/* Whether the run has a value of the metric; a sample whose value is null says why there is none. */
static bool is_measured(const struct muster_run *run, const char *metric)
{
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		for (size_t i = 0; i < at.samples->count; i++)
			if (strcmp(at.samples->items[i].metric->name, metric) == 0 &&
				at.samples->items[i].value.type != MUSTER_NULL)
				return true;
	return false;
}

/* A line such as: fault gemm-slow@node1/gpu0: the profile quick does not measure gpu.gemm_bf16_tflops; use --profile
 * standard. The option is left out where the run had it already and still did not measure. */
int muster_sim_faults_unmeasured(
	const char *const *texts, size_t count, const char *report, FILE *out, struct muster_error *err)
{
	struct muster_run run;
	if (muster_report_read(report, &run, err) < 0)
		return -1;
	bool quick = strcmp(run.job.profile, muster_profile_names[MUSTER_QUICK]) == 0;
	for (size_t i = 0; i < count; i++) {
		const struct muster_fault *fault = find_kind(texts[i], strcspn(texts[i], "@"));
		if (!fault || !fault->shown_by || is_measured(&run, fault->shown_by))
			continue;
		bool by_profile = strncmp(fault->asks, "--profile", strlen("--profile")) == 0;
		bool helps = quick || strcmp(fault->asks, "--profile standard") != 0;
		fprintf(out, "muster: fault %s: %s not measure %s%s%s\n", texts[i],
			quick && by_profile ? "the profile quick does" : "this run did", fault->shown_by,
			helps ? "; use " : "", helps ? fault->asks : "");
	}
	muster_run_done(&run);
	return 0;
}

int muster_sim_faults_apply(
	struct muster_sim_cluster *cluster, const char *const *texts, size_t count, struct muster_error *err)
{
	for (size_t i = 0; i < count; i++) {
		char *text = muster_strdup(texts[i]);
		int rc = apply(cluster, text, err);
		free(text);
		if (rc < 0)
			return muster_wrap(err, "fault \"%s\"", texts[i]);
	}
	for (size_t i = 0; i < cluster->node_count; i++)
		sweep(cluster->arena, &cluster->nodes[i]);
	return 0;
}
