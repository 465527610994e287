/* fault.c - the table of faults, and how each breaks the cluster
 *
 * A fault changes facts of the simulated hardware and nothing else; what muster makes of it is not known here. What
 * goes missing is only marked while faults are applied, so that every WHERE counts in the healthy cluster.
 */
#include "sim/fault.h"

#include "core/text.h"
#include "sim/fault_death.h"
#include "sim/scenario.h"

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

/* A fault either only sets one field of what WHERE names, or apply() breaks it. */
struct fault {
	struct muster_sim_fault_kind kind;
	int (*apply)(const struct target *t, const char *value, struct muster_error *err);
	enum { SET_NOTHING, SET_TEXT, SET_INT, SET_NUMBER } set;
	size_t offset;
	double low, high; /* of a number */
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
		{ 800, 256, 2, "800 Gb/sec (4X XDR)" },
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
	return muster_fail(
		err, MUSTER_EUSAGE, "VALUE must be one of 10, 20, 40, 50, 56, 100, 200, 400, 800, not %s", value);
}

/* VALUE is NAME:NUMBER. The counters of a port may be another port's too: it gets its own. */
static int counter(const struct target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_port *port = t->port;
	const char *colon = strrchr(value, ':');
	long increase = 0;
	if (!colon)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be NAME:NUMBER, not \"%s\"", value);
	if (muster_parse_int(colon + 1, 1, INT32_MAX, &increase, "NUMBER", err) < 0)
		return -1;
	struct muster_sim_counter *own = muster_pool_alloc(t->cluster->pool, (port->counter_count + 1) * sizeof *own);
	bool found = false;
	for (size_t i = 0; i < port->counter_count; i++) {
		size_t length = strlen(port->counters[i].name);
		own[i] = port->counters[i];
		if (length != (size_t)(colon - value) || strncmp(own[i].name, value, length) != 0)
			continue;
		own[i].increase = (double)increase;
		found = true;
	}
	if (!found)
		return muster_fail(err, MUSTER_EUSAGE, "the port has no counter \"%.*s\"", (int)(colon - value), value);
	port->counters = own;
	return 0;
}

static int ib_missing(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->port->pci = NULL; /* sweep() takes it out */
	return 0;
}

/* All the CPUs of a NUMA node that the rank's GPU is not on; NULL when there is no other. */
static const char *far_mask(const struct target *t)
{
	const struct muster_sim_gpu *gpu = &t->node->gpus[t->rank->local_rank];
	const char *list = NULL, *mask = NULL;
	struct muster_cpus cpus;
	for (size_t i = 0; i < t->node->numa_count; i++)
		if (t->node->numas[i].os_index != gpu->numa_node)
			list = t->node->numas[i].cpu_list;
	if (list && muster_cpus_parse_list(list, &cpus, NULL) == 0) {
		char *text = muster_cpus_mask(&cpus);
		mask = keep(t, text);
		free(text);
	}
	return mask;
}

static int cpu_mask(const struct target *t, const char *value, struct muster_error *err)
{
	const char *mask = value ? keep(t, value) : far_mask(t);
	if (!mask)
		return muster_fail(err, MUSTER_EUSAGE, "the node has one NUMA node only: a MASK is needed");
	if (muster_sim_mask_check(t->node, mask, err) < 0)
		return -1;
	t->rank->cpu_mask = mask;
	return 0;
}

static int dies(const struct target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_death death;
	if (!value)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE is needed: FUNCTION:HOW, such as cuInit:segv");
	if (muster_sim_death_parse(value, &death, err) < 0)
		return -1;
	const char **all = muster_pool_alloc(t->cluster->pool, (t->rank->death_count + 1) * sizeof(const char *));
	for (size_t i = 0; i < t->rank->death_count; i++)
		all[i] = t->rank->deaths[i];
	all[t->rank->death_count++] = keep(t, value);
	t->rank->deaths = all;
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

static int nccl_hang(const struct target *t, const char *value, struct muster_error *err)
{
	if (strcmp(value, "init") != 0 && strcmp(value, "reduce") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be init or reduce, not \"%s\"", value);
	t->rank->nccl_hang = keep(t, value);
	return 0;
}

static int nccl_async_error(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->rank->nccl_async_error = true;
	return 0;
}

/* A new barrier that concerns no node yet: sides are the caller's to fill in. */
static char *add_barrier(const struct target *t, const char *mode, const char *name, struct muster_error *err)
{
	static const char *const modes[] = { "hang", "error", "slow" };
	struct muster_sim_cluster *cluster = t->cluster;
	size_t found = 0;
	while (found < sizeof modes / sizeof *modes && strcmp(modes[found], mode) != 0)
		found++;
	if (found == sizeof modes / sizeof *modes) {
		muster_fail(err, MUSTER_EUSAGE, "VALUE: hang, error or slow is needed, not \"%s\"", mode);
		return NULL;
	}
	struct muster_sim_barrier *all = muster_pool_alloc(cluster->pool, (cluster->barrier_count + 1) * sizeof *all);
	if (cluster->barrier_count > 0)
		memcpy(all, cluster->barriers, cluster->barrier_count * sizeof *all);
	char *sides = muster_pool_alloc(cluster->pool, cluster->node_count + 1);
	memset(sides, '-', cluster->node_count);
	all[cluster->barrier_count++] =
		(struct muster_sim_barrier){ .name = name, .mode = modes[found], .sides = sides };
	cluster->barriers = all;
	return sides;
}

static int net_bad(const struct target *t, const char *value, struct muster_error *err)
{
	char *sides =
		add_barrier(t, value, muster_pool_printf(t->cluster->pool, "%s and all others", t->node->name), err);
	if (!sides)
		return -1;
	memset(sides, 'b', t->cluster->node_count);
	sides[t->node - t->cluster->nodes] = 'a';
	return 0;
}

/* Between this node and those before it, and the nodes behind it. */
static int cut(const struct target *t, const char *value, struct muster_error *err)
{
	size_t before = (size_t)(t->node - t->cluster->nodes) + 1;
	if (before == t->cluster->node_count)
		return muster_fail(err, MUSTER_EUSAGE, "there is no node behind the last one");
	char *sides = add_barrier(t, value,
		muster_pool_printf(t->cluster->pool, "%s and those before it, and those behind it", t->node->name),
		err);
	if (!sides)
		return -1;
	memset(sides, 'a', before);
	memset(sides + before, 'b', t->cluster->node_count - before);
	return 0;
}

/* VALUE is NODE or NODE:MODE. */
static int link_bad(const struct target *t, const char *value, struct muster_error *err)
{
	const struct muster_sim_cluster *cluster = t->cluster;
	const char *colon = strchr(value, ':');
	char *number = muster_asprintf("%.*s", colon ? (int)(colon - value) : (int)strlen(value), value);
	long other = 0;
	int rc = muster_parse_int(number, 1, (long)cluster->node_count, &other, "NODE", err);
	free(number);
	if (rc < 0)
		return -1;
	if (&cluster->nodes[other - 1] == t->node)
		return muster_fail(err, MUSTER_EUSAGE, "a link has two nodes");
	char *sides = add_barrier(t, colon ? colon + 1 : "hang",
		muster_pool_printf(cluster->pool, "%s and %s", t->node->name, cluster->nodes[other - 1].name), err);
	if (!sides)
		return -1;
	sides[t->node - cluster->nodes] = 'a';
	sides[other - 1] = 'b';
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

/* Whether NVLink goes on to other nodes; each node of such a machine type has the cluster UUID of its rack. */
static int check_rack(const struct target *t, struct muster_error *err)
{
	const char *cluster = t->node->gpus[0].fabric_cluster;
	if (strspn(cluster, "0-") == strlen(cluster))
		return muster_fail(err, MUSTER_EUSAGE, "NVLink ends at the node on this machine type");
	return 0;
}

/* The nodes' NVLink fabrics, by racks counted from 1. */
static int rack(const struct target *t, const char *value, struct muster_error *err)
{
	long number = 0;
	if (check_rack(t, err) < 0 || muster_parse_int(value, 1, 1000, &number, "VALUE", err) < 0)
		return -1;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_cluster =
			muster_sim_fabric_cluster(t->cluster->pool, t->cluster->sku, (size_t)number - 1);
	return 0;
}

static int clique(const struct target *t, const char *value, struct muster_error *err)
{
	long number = 0;
	if (check_rack(t, err) < 0 || muster_parse_int(value, 0, 1000000, &number, "VALUE", err) < 0)
		return -1;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_clique = (int)number;
	return 0;
}

static int check_fabric(const struct target *t, struct muster_error *err)
{
	return t->gpu->fabric_state > 0 ? 0 : muster_fail(err, MUSTER_EUSAGE, "this GPU joins no NVLink fabric");
}

static int fabric_state(const struct target *t, const char *value, struct muster_error *err)
{
	/* by nvmlGpuFabricState_t */
	static const char *const states[] = { "not-supported", "not-started", "in-progress", "completed" };
	if (check_fabric(t, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (strcmp(states[i], value) == 0) {
			t->gpu->fabric_state = (int)i;
			return 0;
		}
	return muster_fail(err, MUSTER_EUSAGE,
		"VALUE must be one of not-supported, not-started, in-progress, completed, not \"%s\"", value);
}

static int fabric_status(const struct target *t, const char *value, struct muster_error *err)
{
	long code = 0;
	if (check_fabric(t, err) < 0 || muster_parse_int(value, 0, 999, &code, "VALUE", err) < 0)
		return -1;
	t->gpu->fabric_status = (int)code;
	return 0;
}

static int fabric_health(const struct target *t, const char *value, struct muster_error *err)
{
	long mask = 0;
	if (check_fabric(t, err) < 0 || muster_parse_int(value, 0, INT32_MAX, &mask, "VALUE", err) < 0)
		return -1;
	t->gpu->fabric_health = (unsigned long long)mask;
	return 0;
}

static int c2c_down(const struct target *t, const char *value, struct muster_error *err)
{
	long down = 0;
	if (t->gpu->c2c_links == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no C2C links");
	if (muster_parse_int(value, 1, t->gpu->c2c_links, &down, "VALUE", err) < 0)
		return -1;
	t->gpu->c2c_links -= (int)down;
	return 0;
}

static int imex_missing(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value;
	if (t->node->imex_channels == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this machine type has no IMEX channel");
	t->node->imex_channels = 0;
	return 0;
}

static int mig(const struct target *t, const char *value, struct muster_error *err)
{
	if (!t->gpu->mig_supported)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no MIG");
	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be on or off, not \"%s\"", value);
	bool on = strcmp(value, "on") == 0;
	if (t->gpu->mig == on)
		return muster_fail(err, MUSTER_EUSAGE, "MIG is %s in the healthy GPU", value);
	t->gpu->mig = on;
	return 0;
}

static int unlicensed(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value;
	if (!t->gpu->vgpu_licensed)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no vGPU licence to lose");
	t->gpu->vgpu_licensed = false;
	return 0;
}

static int disk_missing(const struct target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_node *node = t->node;
	struct muster_sim_disk *disks = muster_pool_alloc(t->cluster->pool, (node->disk_count + 1) * sizeof *disks);
	size_t kept = 0;
	for (size_t i = 0; i < node->disk_count; i++)
		if (strcmp(node->disks[i].device, value) != 0)
			disks[kept++] = node->disks[i];
	if (kept == node->disk_count)
		return muster_fail(err, MUSTER_EUSAGE, "the node has no disk \"%s\"", value);
	node->disks = disks;
	node->disk_count = kept;
	return 0;
}

/* NAME=TEXT sets the variable in the environment of the node's ranks, NAME alone takes it away, from nccl.conf too. */
static int env(const struct target *t, const char *value, struct muster_error *err)
{
	struct muster_pool *pool = t->cluster->pool;
	struct muster_sim_node *node = t->node;
	size_t length = strcspn(value, "=");
	if (length == 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be NAME or NAME=TEXT, not \"%s\"", value);
	const char **lists[] = { node->environment, node->nccl_conf };
	size_t counts[] = { node->environment_count, node->nccl_conf_count };
	bool found = false;
	for (size_t l = 0; l < 2; l++) {
		const char **kept = muster_pool_alloc(pool, (counts[l] + 2) * sizeof *kept);
		size_t n = 0;
		for (size_t i = 0; i < counts[l]; i++)
			if (strncmp(lists[l][i], value, length) != 0 || lists[l][i][length] != '=')
				kept[n++] = lists[l][i];
		found = found || n < counts[l];
		lists[l] = kept;
		counts[l] = n;
	}
	if (value[length] == '=')
		lists[0][counts[0]++] = keep(t, value);
	else if (!found)
		return muster_fail(err, MUSTER_EUSAGE, "neither the ranks' environment nor nccl.conf has %s", value);
	node->environment = lists[0];
	node->environment_count = counts[0];
	node->nccl_conf = lists[1];
	node->nccl_conf_count = counts[1];
	return 0;
}

static int topo_stale(const struct target *t, const char *value, struct muster_error *err)
{
	(void)value;
	if (*t->node->topo_file == '\0')
		return muster_fail(err, MUSTER_EUSAGE, "this machine type has no NCCL topology file");
	if (t->node->numa_count < 2)
		return muster_fail(err, MUSTER_EUSAGE, "this machine type has one NUMA node only");
	t->node->topo_file_swapped = true;
	return 0;
}

#define EXTRA_DEVICE "mlx5_extra"

/* An InfiniBand device like those of other machine types, at the end of the list. */
static int ib_extra(const struct target *t, const char *value, struct muster_error *err)
{
	static const char *pkeys[] = { "0x8001", "0x7fff" };
	static struct muster_sim_counter counters[] = { { .name = "symbol_error" }, { .name = "link_downed" },
		{ .name = "port_rcv_errors" }, { .name = "hw:out_of_sequence" } };
	struct muster_sim_node *node = t->node;
	struct muster_sim_port *ports = muster_pool_alloc(t->cluster->pool, (node->port_count + 1) * sizeof *ports);
	(void)value;
	for (size_t i = 0; i < node->port_count; i++) {
		if (strcmp(node->ports[i].device, EXTRA_DEVICE) == 0)
			return muster_fail(err, MUSTER_EUSAGE, "the node has it already");
		ports[i] = node->ports[i];
	}
	ports[node->port_count] = (struct muster_sim_port){
		.device = EXTRA_DEVICE,
		.port = 1,
		.pci = "0f01:00:00.0",
		.link_layer = "InfiniBand",
		.state = "ACTIVE",
		.phys_state = "LinkUp",
		.active_speed = 64,
		.active_width = 2,
		.active_mtu = 5,
		.rate = "200 Gb/sec (4X HDR)",
		.sm_lid = 1,
		.firmware = "20.31.1014",
		.board_id = "MT_0000000223",
		.hca_type = "MT4124",
		.pkeys = pkeys,
		.pkey_count = sizeof pkeys / sizeof *pkeys,
		.numa_node = node->numas[0].os_index,
		.counters = counters,
		.counter_count = sizeof counters / sizeof *counters,
	};
	muster_sim_port_identify(
		&ports[node->port_count], t->cluster->pool, (size_t)(node - t->cluster->nodes), node->port_count);
	node->ports = ports;
	node->port_count++;
	return 0;
}

#define SETS(type, member, kind_) .set = SET_##kind_, .offset = offsetof(struct type, member)

/* Sorted by name. */
static const struct fault faults[] = {
	{ { "c2c-down", MUSTER_SIM_GPU, "LINKS", "1", "this many C2C links of the GPU are down" }, .apply = c2c_down },
	{ { "clique", MUSTER_SIM_NODE, "NUMBER", "7", "the node's GPUs are in another NVLink clique" },
		.apply = clique },
	{ { "coherent-mode", MUSTER_SIM_NODE, "TEXT", "numa", "the driver's CoherentGPUMemoryMode" },
		SETS(muster_sim_node, coherent_memory_mode, TEXT) },
	{ { "counter", MUSTER_SIM_PORT, "NAME:NUMBER", "symbol_error:5",
		  "the error counter rises by this much when the node's ranks join an all-reduce" },
		.apply = counter },
	{ { "cpu-mask", MUSTER_SIM_RANK, "MASK", NULL,
		  "the rank may use only these CPUs (hex; default: a NUMA node that its GPU is not on)" },
		.apply = cpu_mask },
	{ { "cut", MUSTER_SIM_NODE, "hang|error|slow", "hang",
		  "rings of this node or one before it and of nodes behind it do not work" },
		.apply = cut },
	{ { "d2h-slow", MUSTER_SIM_GPU, "GB/s", "11.2", "copies from this GPU to the host are this slow" },
		.apply = d2h_slow },
	{ { "dies", MUSTER_SIM_RANK, "FUNCTION[#CALL]:HOW", NULL,
		  "the rank's worker misbehaves in this function of a vendor library" },
		.apply = dies },
	{ { "disk-missing", MUSTER_SIM_NODE, "DEVICE", "nvme0n1", "this disk is not there" }, .apply = disk_missing },
	{ { "driver-drift", MUSTER_SIM_NODE, "VERSION", "580.105.08", "the node has another NVIDIA driver" },
		.apply = driver_drift },
	{ { "duplicate-gpu", MUSTER_SIM_RANK, NULL, NULL, "the rank sees only the GPU of the rank before it" },
		.apply = duplicate_gpu },
	{ { "ecc-uncorrected", MUSTER_SIM_GPU, "ERRORS", "1", "this GPU has counted uncorrected ECC errors" },
		.apply = ecc_uncorrected },
	{ { "env", MUSTER_SIM_NODE, "NAME[=TEXT]", "CUDA_DEVICE_ORDER",
		  "set a variable of the node's ranks, or take it away, from nccl.conf too" },
		.apply = env },
	{ { "fabric-health", MUSTER_SIM_GPU, "MASK", "169", "the GPU's fabric health mask, as a decimal number" },
		.apply = fabric_health },
	{ { "fabric-state", MUSTER_SIM_GPU, "STATE", "in-progress", "how far the GPU has come in joining its fabric" },
		.apply = fabric_state },
	{ { "fabric-status", MUSTER_SIM_GPU, "CODE", "999", "the NVML code that joining the fabric ended with" },
		.apply = fabric_status },
	{ { "gpu-memory", MUSTER_SIM_GPU, "MiB", "98304", "this GPU has so much memory" },
		SETS(muster_sim_gpu, memory_mib, NUMBER), .low = 1, .high = 1e7 },
	{ { "gpu-missing", MUSTER_SIM_GPU, NULL, NULL, "this GPU has fallen off the bus" }, .apply = gpu_missing },
	{ { "gpu-name", MUSTER_SIM_GPU, "NAME", "NVIDIA A100-SXM4-80GB", "this GPU is another model" },
		SETS(muster_sim_gpu, name, TEXT) },
	{ { "h2d-slow", MUSTER_SIM_GPU, "GB/s", "11.2", "copies from the host to this GPU are this slow" },
		.apply = h2d_slow },
	{ { "ib-down", MUSTER_SIM_PORT, NULL, NULL, "the port is DOWN and polling for a link" }, .apply = ib_down },
	{ { "ib-extra", MUSTER_SIM_NODE, NULL, NULL, "there is an InfiniBand device more, " EXTRA_DEVICE },
		.apply = ib_extra },
	{ { "ib-init", MUSTER_SIM_PORT, NULL, NULL, "the port has a link, and no subnet manager has answered yet" },
		.apply = ib_init },
	{ { "ib-missing", MUSTER_SIM_PORT, NULL, NULL, "the device is not there" }, .apply = ib_missing },
	{ { "ib-rate", MUSTER_SIM_PORT, "Gb/s", "100", "the link has trained to another rate" }, .apply = ib_rate },
	{ { "imex-missing", MUSTER_SIM_NODE, NULL, NULL, "the node has no IMEX channel" }, .apply = imex_missing },
	{ { "lib-missing", MUSTER_SIM_NODE, "SONAME", "libnccl.so.2", "the node lacks this vendor library" },
		.apply = lib_missing },
	{ { "link-bad", MUSTER_SIM_NODE, "NODE[:hang|error|slow]", "1",
		  "rings of this node and the one with that number do not work" },
		.apply = link_bad },
	{ { "mig", MUSTER_SIM_GPU, "on|off", "on", "the GPU's MIG mode" }, .apply = mig },
	{ { "nccl-async-error", MUSTER_SIM_RANK, NULL, NULL, "the rank's communicators break while they work" },
		.apply = nccl_async_error },
	{ { "nccl-hang", MUSTER_SIM_RANK, "init|reduce", "init",
		  "the rank's NCCL never returns from its init, or never ends an all-reduce" },
		.apply = nccl_hang },
	{ { "nccl-slow", MUSTER_SIM_RANK, "FACTOR", "4", "the rank's collectives take this many times as long" },
		.apply = nccl_slow },
	{ { "nccl-version", MUSTER_SIM_NODE, "NUMBER", "21805", "the node has this NCCL, as ncclGetVersion gives it" },
		SETS(muster_sim_node, nccl_version, INT), .low = 2000, .high = 99999 },
	{ { "nccl-wrong-sum", MUSTER_SIM_RANK, NULL, NULL, "one value of the rank's copy of every sum is wrong" },
		.apply = nccl_wrong_sum },
	{ { "net-bad", MUSTER_SIM_NODE, "hang|error|slow", "hang", "rings of this node and others do not work" },
		.apply = net_bad },
	{ { "nvlink-down", MUSTER_SIM_GPU, "LINKS", "1", "this many NVLinks of the GPU are down" },
		.apply = nvlink_down },
	{ { "placement-group", MUSTER_SIM_NODE, "NAME", "elsewhere", "the node is in another placement group" },
		SETS(muster_sim_node, placement_group, TEXT) },
	{ { "power-limit", MUSTER_SIM_GPU, "W", "250", "the GPU may draw no more than this" },
		SETS(muster_sim_gpu, power_limit_watts, NUMBER), .low = 1, .high = 10000 },
	{ { "rack", MUSTER_SIM_NODE, "NUMBER", "2", "the node is in this rack, with an NVLink fabric of its own" },
		.apply = rack },
	{ { "sm-clock", MUSTER_SIM_GPU, "MHz", "1095", "the GPU's application clock" },
		SETS(muster_sim_gpu, sm_clock_app_mhz, INT), .low = 1, .high = 10000 },
	{ { "topo-stale", MUSTER_SIM_NODE, NULL, NULL, "the NCCL topology file has two NUMA nodes swapped" },
		.apply = topo_stale },
	{ { "unlicensed", MUSTER_SIM_GPU, NULL, NULL, "the vGPU has no licence" }, .apply = unlicensed },
	{ { "vm-size", MUSTER_SIM_NODE, "NAME", "Standard_D2s_v5", "the instance metadata name this machine type" },
		SETS(muster_sim_node, vm_size, TEXT) },
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
		size_t changes = distance(name, known);
		bool near = (changes <= 3 && 2 * changes <= strlen(known)) || (*name && strstr(known, name));
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

static int set(const struct fault *fault, const struct target *t, const char *value, struct muster_error *err)
{
	char *base = fault->kind.where == MUSTER_SIM_GPU ? (char *)t->gpu : (char *)t->node;
	if (!base)
		abort(); /* find() has found it */
	void *field = base + fault->offset;
	double number = 0;
	if (fault->set == SET_TEXT) {
		*(const char **)field = keep(t, value);
		return 0;
	}
	if (parse_number(value, fault->low, fault->high, &number, err) < 0)
		return -1;
	if (fault->set == SET_INT)
		*(int *)field = (int)number;
	else
		*(double *)field = number;
	return 0;
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
	const char *given = value ? value : fault->kind.default_value;
	return fault->apply ? fault->apply(&t, given, err) : set(fault, &t, given, err);
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
