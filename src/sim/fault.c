/* fault.c - the language of faults: what is written, what it is about, and what is known
 *
 * What goes missing is only marked while faults are applied, so that every WHERE counts in the healthy cluster.
 */
#include "sim/fault.h"

#include "sim/scenario.h"
#include "util/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const where_forms[] = {
	[MUSTER_SIM_NODE] = "node1",
	[MUSTER_SIM_GPU] = "node1/gpu4",
	[MUSTER_SIM_PORT] = "node1/mlx5_ib3",
	[MUSTER_SIM_RANK] = "rank5",
	[MUSTER_SIM_NUMA] = "node1/numa0",
	[MUSTER_SIM_SCRATCH] = "node1",
	[MUSTER_SIM_FOLDER] = "node1",
	[MUSTER_SIM_NODE_OR_GPU] = "node1[/gpu4]",
};
_Static_assert(sizeof where_forms / sizeof *where_forms == MUSTER_SIM_WHERE_COUNT, "a form for each WHERE");

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

static int unknown_fault(const char *name, struct muster_error *err)
{
	char close[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < muster_fault_kind_count; i++) {
		const char *known = muster_fault_kinds[i].name;
		size_t changes = muster_suggest_distance(name, known);
		bool near = (changes <= 3 && 2 * changes <= strlen(known)) || (*name && strstr(known, name));
		if (near && used < sizeof close - 64)
			used += (size_t)snprintf(close + used, sizeof close - used, "%s%s", used ? ", " : "", known);
	}
	if (used == 0)
		return muster_fail(err, MUSTER_EUSAGE, "there is no such fault; muster sim --list-faults shows all");
	return muster_fail(err, MUSTER_EUSAGE, "there is no such fault; close to it: %s", close);
}

/* The number after a word ("node" in "node12"), when text has exactly this form. */
static bool numbered(const char *text, const char *word, long *ret)
{
	size_t length = strlen(word);
	return strncmp(text, word, length) == 0 && text[length] >= '0' && text[length] <= '9' &&
	       muster_parse_int(text + length, 0, INT32_MAX, ret, word, NULL) == 0;
}

static int find_node(struct muster_fault_target *t, const char *text, struct muster_error *err)
{
	long number = 0;
	if (!numbered(text, "node", &number))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a node: use the form node1", text);
	if (number < 1 || (size_t)number > t->cluster->node_count)
		return muster_fail(err, MUSTER_EUSAGE, "%s does not exist: nodes are node1 to node%zu", text,
			t->cluster->node_count);
	t->node = &t->cluster->nodes[number - 1];
	return 0;
}

static int find_gpu(struct muster_fault_target *t, const char *text, struct muster_error *err)
{
	long number = 0;
	if (!numbered(text, "gpu", &number))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a GPU: use the form gpu4 (CUDA index)", text);
	for (size_t i = 0; i < t->node->gpu_count && !t->gpu; i++)
		if (t->node->gpus[i].cuda_index == number)
			t->gpu = &t->node->gpus[i];
	return t->gpu ? 0
		      : muster_fail(err, MUSTER_EUSAGE, "%s does not exist: GPUs are gpu0 to gpu%zu", text,
				t->node->gpu_count - 1);
}

static int find_port(struct muster_fault_target *t, const char *text, struct muster_error *err)
{
	for (size_t i = 0; i < t->node->port_count && !t->port; i++)
		if (strcmp(t->node->ports[i].device, text) == 0)
			t->port = &t->node->ports[i];
	return t->port ? 0 : muster_fail(err, MUSTER_EUSAGE, "the node has no RDMA device \"%s\"", text);
}

static int find_numa(struct muster_fault_target *t, const char *text, struct muster_error *err)
{
	long number = 0;
	if (!numbered(text, "numa", &number))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a NUMA node: use the form numa0", text);
	for (size_t i = 0; i < t->node->numa_count && !t->numa; i++)
		if (t->node->numas[i].os_index == number)
			t->numa = &t->node->numas[i];
	return t->numa ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "%s does not exist: the node has %zu NUMA nodes", text,
				 t->node->numa_count);
}

static int find_rank(struct muster_fault_target *t, const char *text, struct muster_error *err)
{
	long number = 0;
	if (!numbered(text, "rank", &number))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a rank: use the form rank5", text);
	if ((size_t)number >= t->cluster->rank_count)
		return muster_fail(err, MUSTER_EUSAGE, "%s does not exist: ranks are rank0 to rank%zu", text,
			t->cluster->rank_count - 1);
	t->rank = &t->cluster->ranks[number];
	t->node = &t->cluster->nodes[t->rank->node];
	return 0;
}

/* The scratch is the first volume, unless an earlier fault took it away; the folder is the last one. */
static int find_volume(struct muster_fault_target *t, bool folder, struct muster_error *err)
{
	size_t count = t->node->volume_count;
	t->volume = &t->node->volumes[folder && count > 0 ? count - 1 : 0];
	return count > 0 && (strcmp(t->volume->path, MUSTER_SIM_SHARED) == 0) == folder
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "the node has no %s", folder ? "shared folder" : "scratch");
}

/* WHERE, in the form that the fault takes; it is cut up. */
static int find(struct muster_fault_target *t, enum muster_sim_where form, char *where, struct muster_error *err)
{
	char *slash = strchr(where, '/');
	if (form == MUSTER_SIM_NODE_OR_GPU && (slash || strncmp(where, "rank", 4) != 0))
		form = slash ? MUSTER_SIM_GPU : MUSTER_SIM_NODE;
	bool has_part = form == MUSTER_SIM_GPU || form == MUSTER_SIM_PORT || form == MUSTER_SIM_NUMA;
	if ((slash != NULL) != has_part || (strncmp(where, "rank", 4) == 0) != (form == MUSTER_SIM_RANK))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a place for this fault: use the form %s", where,
			where_forms[form]);
	if (form == MUSTER_SIM_RANK)
		return find_rank(t, where, err);
	if (slash)
		*slash++ = '\0';
	if (find_node(t, where, err) < 0)
		return -1;
	if (form == MUSTER_SIM_GPU)
		return find_gpu(t, slash, err);
	if (form == MUSTER_SIM_NUMA)
		return find_numa(t, slash, err);
	if (form == MUSTER_SIM_SCRATCH || form == MUSTER_SIM_FOLDER)
		return find_volume(t, form == MUSTER_SIM_FOLDER, err);
	return form == MUSTER_SIM_PORT ? find_port(t, slash, err) : 0;
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

const char *muster_fault_keep(const struct muster_fault_target *t, const char *text)
{
	return muster_arena_string(t->cluster->arena, text);
}

void muster_fault_append(const struct muster_fault_target *t, const char ***list, size_t *count, const char *text)
{
	const char **longer = muster_sim_copy(t->cluster->arena, *list, *count, sizeof *longer);
	longer[(*count)++] = muster_fault_keep(t, text);
	*list = longer;
}

/* A vGPU hides much: what NVML does not answer cannot show that it is wrong. */
static int check_answer(const struct muster_fault_target *t, const char *function, struct muster_error *err)
{
	for (size_t i = 0; function && t->gpu && i < t->gpu->unsupported_count; i++)
		if (strcmp(t->gpu->unsupported[i], function) == 0)
			return muster_fail(
				err, MUSTER_EUSAGE, "this GPU does not support %s, so the fault cannot show", function);
	return 0;
}

/* VALUE as the number that the fault takes, if it takes one. */
static int read_number(
	const struct muster_fault *fault, const char *value, struct muster_fault_target *t, struct muster_error *err)
{
	long number;
	if (value && (fault->set == SET_NUMBER || fault->set == SET_WHOLE))
		return muster_fault_number(value, fault->low, fault->high, &t->number, err);
	if (!value || fault->set != SET_INT)
		return 0;
	if (muster_parse_int(value, (long)fault->low, (long)fault->high, &number, "VALUE", err) < 0)
		return -1;
	t->number = (double)number;
	return 0;
}

/* word: the place of VALUE in the fault's words. */
static void set(const struct muster_fault *fault, const struct muster_fault_target *t, const char *value, int word)
{
	char *const bases[] = {
		[MUSTER_SIM_NODE] = (char *)t->node,
		[MUSTER_SIM_GPU] = (char *)t->gpu,
		[MUSTER_SIM_PORT] = (char *)t->port,
		[MUSTER_SIM_RANK] = (char *)t->rank,
		[MUSTER_SIM_NUMA] = (char *)t->numa,
		[MUSTER_SIM_SCRATCH] = (char *)t->volume,
		[MUSTER_SIM_FOLDER] = (char *)t->volume,
	};
	if (fault->size == 0)
		return;
	void *field = bases[fault->where] + fault->offset;
	switch (fault->set) {
	case SET_NOTHING: break;
	case SET_CLEARED: memset(field, 0, fault->size); break;
	case SET_TRUE: *(bool *)field = true; break;
	case SET_TEXT: *(const char **)field = muster_fault_keep(t, value); break;
	case SET_APPENDED:
		muster_fault_append(t, field, (size_t *)(void *)(bases[fault->where] + fault->count_offset), value);
		break;
	case SET_PLACE: *(int *)field = word; break;
	case SET_NUMBER: *(double *)field = t->number; break;
	case SET_WHOLE: *(unsigned long long *)field = (unsigned long long)t->number; break;
	case SET_INT:
		if (fault->size == sizeof(int))
			*(int *)field = (int)t->number;
		else
			*(unsigned long long *)field = (unsigned long long)t->number;
		break;
	}
}

/* text is a copy that may be cut up. */
static int apply(struct muster_sim_cluster *cluster, char *text, struct muster_error *err)
{
	const struct muster_fault *fault = NULL;
	struct muster_fault_target t = { .cluster = cluster };
	char *where = strchr(text, '@');
	if (!where)
		return muster_fail(err, MUSTER_EUSAGE, "must have the form KIND@WHERE or KIND@WHERE=VALUE");
	*where++ = '\0';
	for (size_t i = 0; i < muster_fault_kind_count && !fault; i++)
		if (strcmp(muster_fault_kinds[i].name, text) == 0)
			fault = &muster_fault_kinds[i];
	if (!fault)
		return unknown_fault(text, err);
	char *value = strchr(where, '=');
	if (value)
		*value++ = '\0';
	if (value && !fault->value)
		return muster_fail(err, MUSTER_EUSAGE, "this fault takes no VALUE");
	if (value && *value == '\0')
		return muster_fail(err, MUSTER_EUSAGE, "VALUE (%s) is empty", fault->value);
	t.fault = fault;
	if (find(&t, fault->where, where, err) < 0)
		return -1;
	if (check_answer(&t, fault->answer, err) < 0 || (fault->needs && fault->needs(&t, err) < 0))
		return -1;
	const char *given = value ? value : fault->default_value;
	int word = fault->words ? muster_parse_name(given, fault->words, fault->word_count, "VALUE", err) : 0;
	if (word < 0 || read_number(fault, given, &t, err) < 0)
		return -1;
	set(fault, &t, given, word);
	return fault->apply ? fault->apply(&t, given, err) : 0;
}

/* Take out what is missing, and count the rest anew as CUDA and NVML would. */
static void sweep(struct muster_arena *arena, struct muster_sim_node *node)
{
	size_t gpus = 0, ports = 0, unseen = 0;
	node->unseen_gpus = muster_arena_alloc(arena, node->gpu_count * sizeof *node->unseen_gpus);
	for (size_t i = 0; i < node->gpu_count; i++)
		if (node->gpus[i].bus_id && (node->gpus[i].off_the_bus || node->gpus[i].hidden)) {
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
