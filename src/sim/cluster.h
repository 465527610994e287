/* cluster.h - the simulated cluster as the stand-in libraries see it: plain facts, faults already applied
 *
 * `muster sim` makes it from a hardware description and the faults, writes it as cluster.json into the simulation's
 * directory, and every stand-in reads it from there. Stand-ins know nothing of faults or SKUs.
 *
 * Environment of a simulated worker: MUSTER_SIM_CLUSTER (path of cluster.json), MUSTER_SIM_RANK (index into ranks), and
 * MUSTER_SIM_CPU_MASK (what a real launcher bound the rank to, in place of the scenario's cpu_mask).
 */
#ifndef MUSTER_SIM_CLUSTER_H
#define MUSTER_SIM_CLUSTER_H

#include "muster/error.h"
#include "muster/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_sim_gpu {
	const char *bus_id; /* "0001:00:00.0" */
	const char *uuid;   /* "GPU-..." */
	const char *name;
	const char *vbios;
	double memory_mib;
	int compute_major, compute_minor;
	int numa_node;
	int cuda_index, nvml_index;
	bool ecc, persistence;
	bool mig_supported, mig;
	int mig_slices, mig_gb; /* the rank's instance: sevenths of the multiprocessors, memory; 0: the whole GPU */
	int pcie_gen, pcie_gen_max, pcie_width, pcie_width_max;
	int nvlinks, nvlinks_active; /* links there are, links that are up: the first nvlinks_active ones */
	double nvlink_mbps;          /* of each link, as NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON reports it */
	int nvlink_group;            /* so many neighbours in NVML's order are joined by NVLink; 1: none */
	int multiprocessors, memory_bus_bits;
	int sm_clock_mhz, sm_clock_max_mhz, mem_clock_mhz, mem_clock_max_mhz;
	unsigned long long throttle_reasons;
	int temperature_celsius;
	double power_watts, power_limit_watts;
	double ecc_corrected_volatile, ecc_uncorrected_volatile, ecc_corrected_aggregate, ecc_uncorrected_aggregate;
	int remap_correctable, remap_uncorrectable;
	bool remap_pending, remap_failed, sram_exceeded;
	int recovery_action; /* nvmlDeviceGpuRecoveryAction_t */
	/* what the work of a process adds to counters of errors */
	double nvlink_replays, nvlink_recoveries, nvlink_crc_errors, pcie_replays;
	double h2d_gbps, d2h_gbps;                   /* alone */
	double h2d_together_gbps, d2h_together_gbps; /* with all GPUs of the node busy */
	int sm_clock_app_mhz;                        /* application clock */
	double memory_write_gbps, memory_read_gbps;  /* of its own memory, by a kernel */
	double memory_held_mib;                      /* of its memory, by other programs */
	int stranger_pid;                            /* another program that NVML lists; 0: none */
	double stranger_mib;                         /* what the program has of the memory, as NVML lists it */
	bool stranger_late;                          /* the program begins while muster runs */
	int busy_percent;                            /* how busy other programs keep it, that NVML does not list */
	int memory_bad_bit; /* kernels read this bit of an 8-byte word as 1, counted from 1; 0: none */
	unsigned long long
		memory_bad_at; /* where this word is: bytes from the start of each small allocation that is so long, and
				* of the large ones (1 GiB and more) as if they followed each other */
	double gemm_bf16_tflops, gemm_fp64_tflops, gemm_fp8_tflops; /* matrix products; 0: not supported */
	int gemm_wrong;                                             /* about one product in so many is wrong; 0: none */
	double gemm_drift; /* share of the rate lost from the first to the last tenth of a long load */
	/* while a program has kernels loaded; a sensor or a limit that is 0 is not supported */
	int sm_clock_loaded_mhz, temperature_loaded_celsius, memory_temperature_celsius;
	double power_loaded_watts;
	unsigned long long throttle_reasons_loaded;
	int temperature_slowdown_celsius, memory_temperature_max_celsius;
	int fabric_state, fabric_status; /* nvmlGpuFabricState_t, nvmlReturn_t */
	const char *fabric_cluster;      /* UUID; all zeros: none */
	int fabric_clique;
	unsigned long long fabric_health; /* mask of nvmlGpuFabricInfo_v2_t */
	double edge_gbps;                 /* what NCCL's exchanges with its neighbours reach; 0: what NVLink allows */
	int c2c_links;                    /* to the CPU's side of the chip; 0: none */
	double c2c_mbps;                  /* of each */
	bool p2p;                         /* CUDA lets it reach the node's other GPUs */
	const char *virtualization;       /* "none", "passthrough", "vgpu" */
	const char *vgpu_product;         /* licensed product, "" when there is none */
	bool vgpu_licensed;
	bool off_the_bus, hidden; /* the kernel still shows it, and no library does: it broke; the job may not use it */
	const char **unsupported; /* NVML functions that answer NVML_ERROR_NOT_SUPPORTED for it */
	size_t unsupported_count;
};

/* What a process sees of the GPU: the instance, where the GPU is divided. */
double muster_sim_memory_mib(const struct muster_sim_gpu *gpu);
int muster_sim_multiprocessors(const struct muster_sim_gpu *gpu);
/* "GPU-...", or "MIG-..." of the instance. */
#define MUSTER_SIM_UUID_SIZE 64
const char *muster_sim_uuid(const struct muster_sim_gpu *gpu, char ret[MUSTER_SIM_UUID_SIZE]);

struct muster_sim_counter {
	const char *name;       /* "link_downed"; in counters/, or "hw:out_of_sequence" in hw_counters/ */
	double value, increase; /* at the start, and what an all-reduce adds to it */
};

struct muster_sim_port {
	const char *device; /* "mlx5_ib0" */
	int port;
	const char *pci;                            /* "0101:00:00.0" */
	const char *link_layer;                     /* "InfiniBand" or "Ethernet" */
	const char *state;                          /* verbs name without prefix: "ACTIVE", "INIT", "DOWN" */
	const char *phys_state;                     /* "LinkUp", "Polling", "Disabled" */
	int active_speed, active_width, active_mtu; /* verbs encodings */
	const char *rate;                           /* sysfs text: "200 Gb/sec (4X HDR)" */
	int lid, sm_lid;
	const char *gid;  /* "fe80:0000:..." */
	const char *guid; /* node guid, sysfs text */
	bool roce_v1;     /* an Ethernet port without RoCE v2 */
	const char *firmware, *board_id, *hca_type;
	const char **pkeys;
	size_t pkey_count;
	int numa_node;
	double rail_gbps; /* what NCCL's exchanges through it reach; 0: what its rate allows */
	struct muster_sim_counter *counters;
	size_t counter_count;
};

/* What a port says of itself has a number in the InfiniBand specification and in verbs, and a name in sysfs. */
enum muster_sim_port_word { MUSTER_SIM_PORT_STATE, MUSTER_SIM_PORT_PHYS_STATE, MUSTER_SIM_PORT_LINK_LAYER };

/* The number of a name; -1 when there is none. */
int muster_sim_port_word_number(enum muster_sim_port_word kind, const char *name);

struct muster_sim_numa {
	int os_index;
	const char *cpu_list; /* "24-47" */
	double memory_mib;
	int socket;
	double triad_gbps; /* what its CPUs reach of its memory, all at once */
};

struct muster_sim_disk {
	const char *device; /* "nvme0n1" */
	const char *model;  /* "Microsoft NVMe Direct Disk v2" */
	double gb;          /* 10^9 bytes */
};

/* A file system that the ranks of the node may write to. */
struct muster_sim_volume {
	const char *path;       /* where it is mounted: "/mnt/resource_nvme" */
	const char *filesystem; /* "xfs" */
	const char *device;     /* of the kernel: "md127", "dm-0", "sdb1"; or "nfs.sim:/shared", of another machine */
	const char *layout;     /* "raid0" or "lvm-striped" over all NVMe disks; "none" */
	double gb, free_gb;     /* 10^9 bytes */
	double read_gbps, write_gbps;
	double latency_us;   /* of a small request */
	int missing_members; /* disks that the RAID has lost; nothing can be read or written then */
	bool read_only;
	const char *stalls;            /* "read" or "write": such requests never end; "": none does */
	unsigned long long flipped_at; /* what is read has a wrong bit in this byte of each file; 0: it has not */
};

#define MUSTER_SIM_SHARED "/shared" /* where all nodes have mounted one folder of another machine */

enum { MUSTER_SIM_UPTIME_S = 5 * 86400 }; /* of every node */

struct muster_sim_node {
	const char *name;      /* "sim-1" */
	const char *directory; /* its root: sys/, proc/, etc/, dev/, topology.xml; written by the generator */
	const char *os_name, *kernel, *cpu_model, *architecture; /* "Ubuntu 22.04.5 LTS", "5.15.0-...", ..., "x86_64" */
	int sockets, threads_per_core;         /* threads of a core have neighbouring CPU numbers, as on Hyper-V */
	const char *vm_size, *placement_group; /* what the instance metadata service says */
	const char *coherent_memory_mode;      /* CoherentGPUMemoryMode of the driver's parameters; "": no such line */
	int imex_channels;
	bool imex_hidden;     /* the channels work, and have no files in /dev */
	const char **daemons; /* names of processes that run beside the job */
	size_t daemon_count;
	double shm_mib;           /* size of /dev/shm; 0: half of the memory, the default of Linux */
	const char *memlock;      /* limit of locked memory, as /proc/PID/limits has it: "unlimited", or bytes */
	const char *cpu_governor; /* "acpi-cpufreq: performance", of all CPUs; "": the kernel controls no frequency */
	const char *ofed_version; /* of the module mlx5_core; "": the kernel's own module */
	bool peermem, dma_buf;    /* nvidia_peermem is loaded; CUDA gives out DMA buffers */
	bool acs;                 /* on the switch above a GPU */
	struct muster_sim_disk *disks; /* NVMe, local and remote */
	size_t disk_count;
	double temp_disk_gb;               /* 0: there is none */
	struct muster_sim_volume *volumes; /* the first one is the node's scratch */
	size_t volume_count;
	bool io_uring_refused;    /* by the kernel, as in a container */
	double broadcast_gbps;    /* NCCL's broadcasts to and from other nodes; 0: what the network allows */
	const char **environment; /* "NAME=value", in its ranks' environment */
	size_t environment_count;
	const char **nccl_conf; /* lines of /etc/nccl.conf; none: there is no such file */
	size_t nccl_conf_count;
	const char *topo_file;    /* path of an NCCL topology file, written from what is true; "": none */
	bool nccl_plugin_missing; /* NCCL's network plugin, where the machine type has one */
	bool topo_file_swapped;   /* with the first two NUMA nodes swapped, as an old copy has them */
	/* beside a healthy boot's: "AGE TEXT", AGE in seconds, or "now TEXT": logged when a rank of the node makes its
	 * first copy or misbehaves */
	const char **kernel_log;
	size_t kernel_log_count;
	bool kernel_log_hidden;                    /* there is no /dev/kmsg, as in a container */
	const char **paths_missing, **paths_other; /* of fs_paths.h: that are not there, that have another content */
	size_t path_missing_count, path_other_count;
	struct muster_sim_numa *numas;
	size_t numa_count;
	const char *driver_version; /* "580.126.16" */
	int cuda_driver;            /* 13000 */
	const char *nvml_version;
	int nccl_version;               /* 23004 as ncclGetVersion gives it */
	const char **missing_libraries; /* sonames that dlopen must not find */
	size_t missing_library_count;
	struct muster_sim_gpu *gpus; /* by nvml_index */
	size_t gpu_count;
	struct muster_sim_gpu *unseen_gpus; /* off the bus, or hidden: no library shows them */
	size_t unseen_gpu_count;
	struct muster_sim_port *ports;
	size_t port_count;
};

/* Whether no port before this one is of its device: ports with one name are ports of one device. */
bool muster_sim_port_is_first(const struct muster_sim_node *node, size_t index);

struct muster_sim_rank {
	int node; /* index into nodes */
	int local_rank;
	const char *cpu_mask;     /* hex, as srun's mask_cpu takes it */
	const char *visible_gpus; /* CUDA_VISIBLE_DEVICES for it; NULL: not set */
	double nccl_slow;         /* its collectives take this many times as long; 1 is normal */
	double nccl_jitter;       /* one all-reduce in fifty takes this many times as long; 0: none does */
	bool exchange_wrong;      /* what it receives from others has one wrong value */
	bool nccl_wrong_sum;      /* its copy of every sum has one wrong value */
	const char *nccl_hang;    /* where its NCCL stops for ever: "init", "reduce"; "": nowhere */
	bool nccl_async_error;    /* its communicators break while they work */
	const char **deaths; /* "FUNCTION[#CALL]:HOW": how its worker misbehaves, and where; see fault_misbehave.h */
	size_t death_count;
};

struct muster_sim_bandwidth {
	int domains;              /* NVLink domains that the ring spans: racks, or nodes where NVLink ends there */
	int nodes;                /* how many nodes it spans */
	double bytes, busbw_gbps; /* sorted by domains, nodes, bytes; between two sizes: linear in log(bytes) */
};

/* Nodes that the network does not connect as it should: rings that have nodes of both sides do not work. */
struct muster_sim_partition {
	const char *name;  /* "sim-3 and sim-5" */
	const char *mode;  /* "hang": they never connect; "error": they fail; "slow": they are slow */
	const char *sides; /* a letter for each node: 'a', 'b', or '-' for those that it does not concern */
};

/* Two GPUs, by their bus ids, whose exchanges are slow, in both directions. */
struct muster_sim_link {
	const char *name;       /* "sim-1/0001:00:00.0 and sim-1/0002:00:00.0" */
	int from_node, to_node; /* indexes */
	const char *from_gpu, *to_gpu;
	double gbps;
};

struct muster_sim_cluster {
	struct muster_arena *arena; /* owns everything below */
	const char *sku, *directory;
	const char *intra_transport; /* what NCCL's log says inside a node: "P2P/CUMEM" */
	const char *inter_transport; /* between nodes: "NET/IB/GDRDMA"; "" when there is none */
	struct muster_sim_node *nodes;
	size_t node_count;
	struct muster_sim_rank *ranks;
	size_t rank_count;
	struct muster_sim_bandwidth *bandwidths;
	size_t bandwidth_count;
	struct muster_sim_partition *barriers;
	size_t barrier_count;
	struct muster_sim_link *links;
	size_t link_count;
};

/* The structs' fields, as cluster.json has them. Those that a hardware description gives as well are in one of these
 * parts; all fields of a NUMA node, a disk and a bandwidth are there. */
enum {
	MUSTER_SIM_DESCRIBED = 1 << 0, /* of a GPU, a port or a volume: what all GPUs, or all ports of an adapter, have
					* in common; what is known of a volume */
	MUSTER_SIM_DEVICE = 1 << 1,    /* of a GPU or a port: its own */
	MUSTER_SIM_HOST = 1 << 2,      /* of a node */
	MUSTER_SIM_SOFTWARE = 1 << 3,
};
struct muster_object_type;
extern const struct muster_object_type muster_sim_gpu_type, muster_sim_port_type, muster_sim_numa_type,
	muster_sim_disk_type, muster_sim_volume_type, muster_sim_node_type, muster_sim_bandwidth_type,
	muster_sim_cluster_type;

/* Read cluster.json. Unknown and missing keys are errors that name the JSON path. */
int muster_sim_cluster_read(const char *path, struct muster_sim_cluster *ret, struct muster_error *err);
int muster_sim_cluster_write(const struct muster_sim_cluster *cluster, const char *path, struct muster_error *err);
void muster_sim_cluster_done(struct muster_sim_cluster *cluster);

/* For a stand-in: the cluster, this process's rank and its node, read once from the environment. Without them, or with
 * a broken file, it says so on stderr and ends the process with status 70: a stand-in never runs unscripted. */
const struct muster_sim_cluster *muster_sim_cluster(void);
const struct muster_sim_rank *muster_sim_this_rank(void);
const struct muster_sim_node *muster_sim_this_node(void);

#endif
