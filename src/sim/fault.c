/* fault.c - the table of faults, and how each breaks the cluster
 *
 * A fault changes facts of the simulated hardware and nothing else; what muster makes of it is not known here. What
 * goes missing is only marked while faults are applied, so that every WHERE counts in the healthy cluster.
 */
#include "sim/fault.h"

#include "core/text.h"
#include "sim/hardware.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct target {
	struct muster_sim_cluster *cluster;
	struct muster_sim_node *node;
	struct muster_sim_gpu *gpu;   /* WHERE is a GPU */
	struct muster_sim_port *port; /* WHERE is a port */
	struct muster_sim_rank *rank; /* WHERE is a rank */
};

struct fault {
	struct muster_sim_fault_kind kind;
	int (*apply)(const struct target *t, const char *value, struct muster_error *err);
};

static int parse_number(const char *value, double low, double high, double *ret, struct muster_error *err)
{
	double number = 0;
	if (muster_parse_double(value, &number, "VALUE", err) < 0)
		return -1;
	if (!(number >= low && number <= high))
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be from %g to %g, not %s", low, high, value);
	*ret = number;
	return 0;
}

static const char *keep(const struct target *t, const char *text)
{
	return muster_pool_string(t->cluster->pool, text);
}

static int gpu_missing(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->gpu->bus_id = NULL; /* sweep() takes it out */
	return 0;
}

static int gpu_name(const struct target *t, const char *value, struct muster_error *err)
{
	(void)err;
	t->gpu->name = keep(t, value);
	return 0;
}

static int slow_copy(double *alone, double *together, const char *value, struct muster_error *err)
{
	if (parse_number(value, 0.001, 10000, alone, err) < 0)
		return -1;
	if (*together > *alone)
		*together = *alone;
	return 0;
}

static int h2d_slow(const struct target *t, const char *value, struct muster_error *err)
{
	return slow_copy(&t->gpu->h2d_gbps, &t->gpu->h2d_together_gbps, value, err);
}

static int d2h_slow(const struct target *t, const char *value, struct muster_error *err)
{
	return slow_copy(&t->gpu->d2h_gbps, &t->gpu->d2h_together_gbps, value, err);
}

static int nvlink_down(const struct target *t, const char *value, struct muster_error *err)
{
	long down = 0;
	if (t->gpu->nvlinks == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no NVLinks");
	if (muster_parse_int(value, 1, t->gpu->nvlinks, &down, "VALUE", err) < 0)
		return -1;
	t->gpu->nvlinks_active = t->gpu->nvlinks - (int)down;
	return 0;
}

static int ecc_uncorrected(const struct target *t, const char *value, struct muster_error *err)
{
	long errors = 0;
	if (muster_parse_int(value, 1, 1000000000, &errors, "VALUE", err) < 0)
		return -1;
	t->gpu->ecc_uncorrected_volatile = t->gpu->ecc_uncorrected_aggregate = (double)errors;
	return 0;
}

/* Without a subnet manager's word a port has no address; mlx5 then shows the highest LID. */
static void forget_address(struct muster_sim_port *port)
{
	port->lid = 0xffff;
	port->sm_lid = 0;
}

/* A port without a link shows the lowest speed there is. */
static int ib_down(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->port->state = "DOWN";
	t->port->phys_state = "Polling";
	t->port->active_speed = 1;
	t->port->active_width = 2;
	t->port->rate = "10 Gb/sec (4X SDR)";
	forget_address(t->port);
	return 0;
}

static int ib_init(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->port->state = "INIT";
	forget_address(t->port);
	return 0;
}

/* Speeds and widths as verbs encodes them, with the text of sysfs. */
static int ib_rate(const struct target *t, const char *value, struct muster_error *err)
{
	static const struct {
		double gbps;
		int speed, width;
		const char *text;
	} rates[] = {
		{ 10, 1, 2, "10 Gb/sec (4X SDR)" },
		{ 20, 2, 2, "20 Gb/sec (4X DDR)" },
		{ 40, 4, 2, "40 Gb/sec (4X QDR)" },
		{ 50, 64, 1, "50 Gb/sec (1X HDR)" },
		{ 56, 16, 2, "56 Gb/sec (4X FDR)" },
		{ 100, 32, 2, "100 Gb/sec (4X EDR)" },
		{ 200, 64, 2, "200 Gb/sec (4X HDR)" },
		{ 400, 128, 2, "400 Gb/sec (4X NDR)" },
	};
	double gbps = 0;
	if (parse_number(value, 0, 1000, &gbps, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		if (gbps >= rates[i].gbps && gbps <= rates[i].gbps) {
			t->port->active_speed = rates[i].speed;
			t->port->active_width = rates[i].width;
			t->port->rate = rates[i].text;
			return 0;
		}
	return muster_fail(err, MUSTER_EUSAGE, "VALUE must be one of 10, 20, 40, 50, 56, 100, 200, 400, not %s", value);
}

static int ib_missing(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->port->pci = NULL; /* sweep() takes it out */
	return 0;
}

/* All the CPUs of a NUMA node that the rank's GPU is not on. */
static const char *far_mask(const struct target *t)
{
	const struct muster_sim_gpu *gpu = &t->node->gpus[t->rank->local_rank];
	const char *list = t->node->numas[0].cpu_list, *mask = NULL;
	struct muster_cpus cpus;
	for (size_t i = 0; i < t->node->numa_count; i++)
		if (t->node->numas[i].os_index != gpu->numa_node)
			list = t->node->numas[i].cpu_list;
	if (muster_cpus_parse_list(list, &cpus, NULL) == 0) {
		char *text = muster_cpus_mask(&cpus);
		mask = keep(t, text);
		free(text);
	}
	return mask;
}

static int cpu_mask(const struct target *t, const char *value, struct muster_error *err)
{
	const char *mask = value ? keep(t, value) : far_mask(t);
	if (muster_sim_mask_check(t->node, mask, err) < 0)
		return -1;
	t->rank->cpu_mask = mask;
	return 0;
}

static int duplicate_gpu(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value;
	if (t->rank->local_rank == 0)
		return muster_fail(err, MUSTER_EUSAGE, "it is the first rank of its node and has none before it");
	t->rank->visible_gpus = muster_pool_printf(t->cluster->pool, "%d", t->rank->local_rank - 1);
	return 0;
}

static int nccl_slow(const struct target *t, const char *value, struct muster_error *err)
{
	return parse_number(value, 1, 1000000, &t->rank->nccl_slow, err);
}

static int nccl_wrong_sum(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->rank->nccl_wrong_sum = true;
	return 0;
}

/* NVML's own version is the driver's behind the CUDA major version: "13.580.126.16". */
static int driver_drift(const struct target *t, const char *value, struct muster_error *err)
{
	if (strspn(value, "0123456789.") != strlen(value) || *value == '\0')
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be a version, not \"%s\"", value);
	t->node->driver_version = keep(t, value);
	t->node->nvml_version = muster_pool_printf(t->cluster->pool, "%d.%s", t->node->cuda_driver / 1000, value);
	return 0;
}

static int lib_missing(const struct target *t, const char *value, struct muster_error *err)
{
	static const char *const sonames[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2", "libibverbs.so.1" };
	struct muster_sim_node *node = t->node;
	for (size_t i = 0; i < sizeof sonames / sizeof *sonames; i++) {
		if (strcmp(sonames[i], value) != 0)
			continue;
		const char **list =
			muster_pool_alloc(t->cluster->pool, (node->missing_library_count + 1) * sizeof *list);
		for (size_t m = 0; m < node->missing_library_count; m++)
			list[m] = node->missing_libraries[m];
		list[node->missing_library_count++] = sonames[i];
		node->missing_libraries = list;
		return 0;
	}
	return muster_fail(err, MUSTER_EUSAGE,
		"VALUE must be one of libcuda.so.1, libnvidia-ml.so.1, libnccl.so.2, libibverbs.so.1, not \"%s\"",
		value);
}

/* Sorted by name. */
static const struct fault faults[] = {
	{ { "cpu-mask", MUSTER_SIM_RANK, "MASK", NULL,
		  "the rank may use only these CPUs (hex; default: a NUMA node that its GPU is not on)" },
		cpu_mask },
	{ { "d2h-slow", MUSTER_SIM_GPU, "GB/s", "11.2", "copies from this GPU to the host are this slow" }, d2h_slow },
	{ { "driver-drift", MUSTER_SIM_NODE, "VERSION", "580.105.08", "the node has another NVIDIA driver" },
		driver_drift },
	{ { "duplicate-gpu", MUSTER_SIM_RANK, NULL, NULL, "the rank sees only the GPU of the rank before it" },
		duplicate_gpu },
	{ { "ecc-uncorrected", MUSTER_SIM_GPU, "ERRORS", "1", "this GPU has counted uncorrected ECC errors" },
		ecc_uncorrected },
	{ { "gpu-missing", MUSTER_SIM_GPU, NULL, NULL, "this GPU has fallen off the bus" }, gpu_missing },
	{ { "gpu-name", MUSTER_SIM_GPU, "NAME", "NVIDIA A100-SXM4-80GB", "this GPU is another model" }, gpu_name },
	{ { "h2d-slow", MUSTER_SIM_GPU, "GB/s", "11.2", "copies from the host to this GPU are this slow" }, h2d_slow },
	{ { "ib-down", MUSTER_SIM_PORT, NULL, NULL, "the port is DOWN and polling for a link" }, ib_down },
	{ { "ib-init", MUSTER_SIM_PORT, NULL, NULL, "the port has a link, and no subnet manager has answered yet" },
		ib_init },
	{ { "ib-missing", MUSTER_SIM_PORT, NULL, NULL, "the device is not there" }, ib_missing },
	{ { "ib-rate", MUSTER_SIM_PORT, "Gb/s", "100", "the link has trained to another rate" }, ib_rate },
	{ { "lib-missing", MUSTER_SIM_NODE, "SONAME", "libnccl.so.2", "the node lacks this vendor library" },
		lib_missing },
	{ { "nccl-slow", MUSTER_SIM_RANK, "FACTOR", "4", "the rank's collectives take this many times as long" },
		nccl_slow },
	{ { "nccl-wrong-sum", MUSTER_SIM_RANK, NULL, NULL, "one value of the rank's copy of every sum is wrong" },
		nccl_wrong_sum },
	{ { "nvlink-down", MUSTER_SIM_GPU, "LINKS", "1", "this many NVLinks of the GPU are down" }, nvlink_down },
};
#define FAULT_COUNT (sizeof faults / sizeof *faults)

static const char *const where_forms[] = {
	[MUSTER_SIM_NODE] = "node1",
	[MUSTER_SIM_GPU] = "node1/gpu4",
	[MUSTER_SIM_PORT] = "node1/mlx5_ib3",
	[MUSTER_SIM_RANK] = "rank5",
};
_Static_assert(sizeof where_forms / sizeof *where_forms == MUSTER_SIM_WHERE_COUNT, "a form for each WHERE");

size_t muster_sim_fault_kind_count(void)
{
	return FAULT_COUNT;
}

const struct muster_sim_fault_kind *muster_sim_fault_kind_at(size_t index)
{
	return &faults[index].kind;
}

void muster_sim_fault_kinds_print(FILE *out)
{
	for (size_t i = 0; i < FAULT_COUNT; i++) {
		const struct muster_sim_fault_kind *kind = &faults[i].kind;
		char form[128];
		snprintf(form, sizeof form, "%s@%s%s%s%s", kind->name, where_forms[kind->where],
			kind->value ? "[=" : "", kind->value ? kind->value : "", kind->value ? "]" : "");
		fprintf(out, "  %-36s %s", form, kind->help);
		if (kind->default_value)
			fprintf(out, " (default: %s)", kind->default_value);
		fprintf(out, "\n");
	}
}

/* How many letters must be changed, added or left out to make b of a (Levenshtein). b has at most 63 letters. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64], length = strlen(b);
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[length];
}

static int unknown_fault(const char *name, struct muster_error *err)
{
	char close[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < FAULT_COUNT; i++) {
		const char *known = faults[i].kind.name;
		bool near = distance(name, known) <= 3 || (*name && strstr(known, name));
		if (near && used < sizeof close - 64)
			used += (size_t)snprintf(close + used, sizeof close - used, "%s%s", used ? ", " : "", known);
	}
	if (used == 0)
		return muster_fail(err, MUSTER_EUSAGE, "there is no such fault; muster sim --list-faults shows all");
	return muster_fail(err, MUSTER_EUSAGE, "there is no such fault; close to it: %s", close);
}

/* The number behind a word ("node" in "node12"), when text is just that. */
static bool numbered(const char *text, const char *word, long *ret)
{
	size_t length = strlen(word);
	return strncmp(text, word, length) == 0 && text[length] >= '0' && text[length] <= '9' &&
	       muster_parse_int(text + length, 0, INT32_MAX, ret, word, NULL) == 0;
}

static int find_node(struct target *t, const char *text, struct muster_error *err)
{
	long number = 0;
	if (!numbered(text, "node", &number))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is no node: write node1", text);
	if (number < 1 || (size_t)number > t->cluster->node_count)
		return muster_fail(
			err, MUSTER_EUSAGE, "there is no %s: nodes are node1 to node%zu", text, t->cluster->node_count);
	t->node = &t->cluster->nodes[number - 1];
	return 0;
}

static int find_gpu(struct target *t, const char *text, struct muster_error *err)
{
	long number = 0;
	if (!numbered(text, "gpu", &number))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is no GPU: write gpu4, by CUDA index", text);
	for (size_t i = 0; i < t->node->gpu_count && !t->gpu; i++)
		if (t->node->gpus[i].cuda_index == number)
			t->gpu = &t->node->gpus[i];
	return t->gpu ? 0
		      : muster_fail(err, MUSTER_EUSAGE, "there is no %s: GPUs are gpu0 to gpu%zu", text,
				t->node->gpu_count - 1);
}

static int find_port(struct target *t, const char *text, struct muster_error *err)
{
	for (size_t i = 0; i < t->node->port_count && !t->port; i++)
		if (strcmp(t->node->ports[i].device, text) == 0)
			t->port = &t->node->ports[i];
	return t->port ? 0 : muster_fail(err, MUSTER_EUSAGE, "the node has no RDMA device \"%s\"", text);
}

static int find_rank(struct target *t, const char *text, struct muster_error *err)
{
	long number = 0;
	if (!numbered(text, "rank", &number))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is no rank: write rank5", text);
	if ((size_t)number >= t->cluster->rank_count)
		return muster_fail(err, MUSTER_EUSAGE, "there is no %s: ranks are rank0 to rank%zu", text,
			t->cluster->rank_count - 1);
	t->rank = &t->cluster->ranks[number];
	t->node = &t->cluster->nodes[t->rank->node];
	return 0;
}

/* WHERE, in the form that the fault takes. */
static int find(struct target *t, enum muster_sim_where form, const char *where, struct muster_error *err)
{
	char node[32];
	const char *slash = strchr(where, '/');
	bool has_part = form == MUSTER_SIM_GPU || form == MUSTER_SIM_PORT;
	if ((slash != NULL) != has_part || (strncmp(where, "rank", 4) == 0) != (form == MUSTER_SIM_RANK))
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is no place for this fault: write one such as %s", where,
			where_forms[form]);
	if (form == MUSTER_SIM_RANK)
		return find_rank(t, where, err);
	size_t length = slash ? (size_t)(slash - where) : strlen(where);
	if (length >= sizeof node)
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is no node: write node1", where);
	memcpy(node, where, length);
	node[length] = '\0';
	if (find_node(t, node, err) < 0)
		return -1;
	if (form == MUSTER_SIM_GPU)
		return find_gpu(t, slash + 1, err);
	return form == MUSTER_SIM_PORT ? find_port(t, slash + 1, err) : 0;
}

/* text is a copy that may be cut up. */
static int apply(struct muster_sim_cluster *cluster, char *text, struct muster_error *err)
{
	const struct fault *fault = NULL;
	struct target t = { .cluster = cluster };
	char *where = strchr(text, '@');
	if (!where)
		return muster_fail(err, MUSTER_EUSAGE, "must be written KIND@WHERE or KIND@WHERE=VALUE");
	*where++ = '\0';
	for (size_t i = 0; i < FAULT_COUNT && !fault; i++)
		if (strcmp(faults[i].kind.name, text) == 0)
			fault = &faults[i];
	if (!fault)
		return unknown_fault(text, err);
	char *value = strchr(where, '=');
	if (value)
		*value++ = '\0';
	if (value && !fault->kind.value)
		return muster_fail(err, MUSTER_EUSAGE, "this fault takes no VALUE");
	if (value && *value == '\0')
		return muster_fail(err, MUSTER_EUSAGE, "VALUE (%s) is empty", fault->kind.value);
	if (find(&t, fault->kind.where, where, err) < 0)
		return -1;
	return fault->apply(&t, value ? value : fault->kind.default_value, err);
}

/* Take out what is missing, and count the rest anew as CUDA and NVML would. */
static void sweep(struct muster_sim_node *node)
{
	size_t gpus = 0, ports = 0;
	for (size_t i = 0; i < node->gpu_count; i++)
		if (node->gpus[i].bus_id) {
			node->gpus[gpus] = node->gpus[i];
			node->gpus[gpus].cuda_index = node->gpus[gpus].nvml_index = (int)gpus;
			gpus++;
		}
	for (size_t i = 0; i < node->port_count; i++)
		if (node->ports[i].pci)
			node->ports[ports++] = node->ports[i];
	node->gpu_count = gpus;
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
		sweep(&cluster->nodes[i]);
	return 0;
}
