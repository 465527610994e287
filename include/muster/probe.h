/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - the interface of a probe
 *
 * A probe only measures. It runs in the worker process, so it may crash or hang without ending the rank. To add a
 * probe, add one file to src/probes/ that exports `const struct muster_probe muster_probe_<file>`.
 * What probes call is implemented by src/probes/context.c, the tables of probes and metrics by src/probes/registry.c.
 */
#ifndef MUSTER_PROBE_H
#define MUSTER_PROBE_H

#include "muster/error.h"
#include "muster/profile.h"
#include "muster/sample.h"

#include <stdint.h>

/* A rank of this node; every worker of the node gets the list after all of them have a GPU. */
struct muster_peer {
	int rank, local_rank;
	const char *gpu_bus_id; /* sysfs form, "0001:00:00.0"; "" if the rank has no GPU */
	const char *gpu_uuid;   /* "" if the rank has no GPU */
	const char *gpu_path;   /* GPUs on one path take turns; as supervisors know it, a worker has NULL */
};

/* The GPU that this rank took. The worker fills it once, before any probe runs. */
struct muster_gpu {
	int cuda_device;         /* CUdevice; -1 when there is none */
	unsigned int nvml_index; /* valid when has_nvml */
	bool has_nvml;
	void *nvml_device; /* nvmlDevice_t, joined by bus id; NULL unless has_nvml */
	char bus_id[32];   /* sysfs form, lower case: "0001:00:00.0"; "" when there is no GPU */
	char uuid[48];     /* "GPU-..." or "MIG-..."; "" when there is no GPU */
	char name[128];
	double cuda_start_ms;      /* the first call of cuInit took so long; 0: CUDA was not started */
	int cuda_result;           /* CUresult of cuInit, else of the context: how CUDA does not start; 0: it does */
	int visible;               /* GPUs that CUDA shows to this rank; -1 when CUDA could not be asked */
	char choice[32];           /* how it was chosen: "only-visible", "local-rank", "none" */
	char why_none[512];        /* a sentence, when there is no GPU or CUDA does not start; else "" */
	enum muster_code why_code; /* of CUDA that does not start */
	const char *died_of;  /* what ended a worker before: "cuda", "nvml"; NULL: nothing did, or something else */
	char why_shared[256]; /* who else may use the GPU, in words, or "": gpu_users finds out before all probes */
};

/* Before an expected path: the files of the folder are compared by their bytes, and not only by their sizes. */
#define MUSTER_PATH_CONTENT "content:"

/* Neighbours, interrupts and clocks slow a healthy part for moments; a broken part is slow always. So a run comes to
 * each speed MUSTER_VISITS times, with its other work between, and what it judges is the best window of all visits. A
 * speed that is still too low is visited once more at the end: that visit has the number MUSTER_VISITS. */
enum { MUSTER_VISITS = 3 };

struct muster_probe_env {
	/* the job, as MPI and the hello exchange know it */
	int rank, ranks, local_rank, local_ranks, node_index, nodes;
	const char *node_name;
	bool leader;                     /* the lowest rank of its node: node-scoped facts are its to measure */
	bool shared;                     /* other programs may use the GPU: the user has said so */
	bool in_job;                     /* a job's launcher placed the ranks and its script set their environment */
	const struct muster_peer *peers; /* the ranks of this node, this one included */
	size_t peer_count;
	enum muster_profile profile;
	uint64_t min_bytes, max_bytes; /* the ring's message sizes */
	int repeats;                   /* by how much more windows than usual a visit has; 0 means 1 too */
	int visit;                     /* of this callback: 0 to MUSTER_VISITS */
	int soak_s;                    /* seconds of load on each GPU; 0: as short as can be */
	int steps;                     /* training steps to take; 0: none */
	bool long_steps;               /* of about 20 ms each: in the profile full, or the user has set how many */
	bool storage;                  /* measure the path from the disk to the GPU */
	bool broadcast;                /* and from one reader to all nodes */
	const char *storage_path;      /* folder for that; NULL: the scratch that is found */
	uint64_t storage_bytes;        /* of the node's test file, or of all test files of its ranks together */
	const char *checkpoint_path;   /* shared folder that all ranks write to; NULL: none */
	uint64_t checkpoint_bytes;     /* of each rank */
	const char *broadcast_file;    /* what one reader reads for all nodes; NULL: generated data */
	const char **expect_paths;     /* what must be there on all nodes */
	size_t expect_path_count;
	const char *root; /* prefix of /sys, /proc, /etc and /dev; "" on a real machine */
	struct muster_gpu *gpu;
};

struct muster_probe_ctx; /* probes/context.h */

/* What the probe was given. Lives as long as the worker. */
const struct muster_probe_env *muster_probe_env(struct muster_probe_ctx *ctx);

/* Yield one sample of a metric in this probe's own table. `labels` holds the values of the metric's labels in the
 * catalogue's order (each a string or a number), terminated by count; strings are copied. Emitting a metric that the
 * probe does not list, a wrong type or a wrong label count is a bug and ends the worker with a message. */
void muster_emit(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, struct muster_value value);
/* The same with null and the reason why. */
void muster_emit_null(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, const char *reason_format, ...) __attribute__((format(printf, 5, 6)));
/* Shorthands for metrics with one label, a string, or with none: label is NULL. */
void muster_emit_for(struct muster_probe_ctx *ctx, const char *metric, const char *label, struct muster_value value);
void muster_emit_null_for(struct muster_probe_ctx *ctx, const char *metric, const char *label,
	const char *reason_format, ...) __attribute__((format(printf, 4, 5)));
/* What a call gave: the value, or when result is negative null with why. */
void muster_emit_result_with(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, int result, struct muster_value value, const char *why);
void muster_emit_result(struct muster_probe_ctx *ctx, const char *metric, const char *label, int result,
	struct muster_value value, const char *why);
/* The same where why is an error: its code says whether there is no such value (MUSTER_ENOTSUPPORTED, MUSTER_OK), or
 * its source could not be read. */
void muster_emit_read_with(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, int result, struct muster_value value, const struct muster_error *why);
void muster_emit_read(struct muster_probe_ctx *ctx, const char *metric, const char *label, int result,
	struct muster_value value, const struct muster_error *why);

/* Say what comes next, before a call that may crash or hang: "cuMemHostRegister_v2 of 64 MiB". Sent at once, so the
 * supervisor can name the last step. */
void muster_step(struct muster_probe_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The path of a file under the root prefix, for example muster_root_path(ctx, buf, sizeof buf,
 * "/sys/class/infiniband"). Returns buf. Too long a path ends the worker. */
const char *muster_root_path(struct muster_probe_ctx *ctx, char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* For measurements over all ranks, wherever they wait: -1 with err (MUSTER_ECALLEDOFF) when another rank has failed and
 * there is nothing left to wait for. Costs a system call. */
int muster_cancelled(struct muster_probe_ctx *ctx, struct muster_error *err);

/* Say what a library has said that may explain how this callback is going to fail, such as the end of its log: text
 * that may differ between ranks where the cause is the same, and so is no part of the error. The last one counts. */
void muster_evidence(struct muster_probe_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Say how this callback is going to fail, before calls that clean up and may hang or crash themselves. */
void muster_failing(struct muster_probe_ctx *ctx, const struct muster_error *err);

/* The ring, as rank 0 dealt it. Its ids: one, or several for a large ring, from as many of its ranks. */
#define MUSTER_RING_ID_BYTES 128 /* sizeof(ncclUniqueId) */
#define MUSTER_RING_IDS_MAX 8
/* The first ring begins early: NCCL makes its communicator while ranks look at their GPUs and copy. */
enum muster_ring_part {
	MUSTER_RING_WHOLE = 0, /* make the communicator and measure */
	MUSTER_RING_BEGIN,     /* begin to make the communicator; must return at once */
	MUSTER_RING_AWAIT,     /* wait until the communicator that has begun is there; may be left out */
	MUSTER_RING_REST,      /* the same, and measure */
	MUSTER_RING_PARTS
};
struct muster_ring {
	enum muster_ring_part part;
	unsigned char ids[MUSTER_RING_IDS_MAX][MUSTER_RING_ID_BYTES];
	int id_count;           /* 0 in parts that need no id, AWAIT and REST */
	int rank, ranks, nodes; /* within the ring */
	int timeout_ms;         /* the probe gives up by itself a little before its own deadline */
	bool trial;             /* only to see whether it works: one modest size, and a wrong result is an error */
};

/* How many ranks one round of traffic joins. */
enum muster_traffic_shape {
	MUSTER_TRAFFIC_NONE = 0,
	MUSTER_TRAFFIC_PAIRS, /* two by two, all pairs at once: edges of each node, then rails between nodes */
	MUSTER_TRAFFIC_ALL,   /* all ranks of the ring, in one round */
	MUSTER_TRAFFIC_EACH,  /* each rank of the ring by itself, all at once: one that fails stops no other, and ranks
			       * whose communicator is gone take part as well */
};

/* One round of traffic, as rank 0 dealt it, on the communicator of the ring that went well last. */
struct muster_traffic {
	const char *kind;  /* of pairs: "edge" (next GPU of the node), "rail" (same GPU of the next node) or "pair" (any
			    * other two GPUs of the node); else "all" */
	int peer;          /* of pairs: the other rank's number in the ring; else -1 */
	int round, rounds; /* of this probe, from 0 */
	int visit;         /* 0: everything; later ones: the windows of probes that have .windows */
	int timeout_ms;    /* the probe gives up by itself a little before its own deadline */
};

/* The phases of a run, as the progress line shows them, in their order. */
enum muster_phase {
	MUSTER_PHASE_NONE = -1,
	MUSTER_PHASE_START = 0,
	MUSTER_PHASE_DRIVERS,
	MUSTER_PHASE_INVENTORY,
	MUSTER_PHASE_COPIES,
	MUSTER_PHASE_LOAD,
	MUSTER_PHASE_RING,
	MUSTER_PHASE_TRAFFIC,
	MUSTER_PHASE_COUNT
};

/* A probe's callbacks return 0, or -1 with err: "could not tell, because ...". What was emitted before is kept. State
 * that must live from one callback to the next is static in the probe's file; a replaced worker has none. */
struct muster_probe {
	const char *name;        /* the file's name without .c */
	const char *summary;     /* one line */
	enum muster_scope scope; /* NODE: the leader's worker runs it; RANK: every worker */
	bool needs_gpu;          /* without a GPU the probe is reported as not run, with the reason */
	bool by_nvml;            /* with needs_gpu: NVML is enough, so the probe runs where CUDA does not start */
	bool soaks;              /* `together` takes env's soak_s longer than deadline_ms lets it */
	bool beside_ring_start;  /* `together` may run while the communicator of a ring is being made */
	bool windows;            /* run and together, or traffic, are called once for each visit */
	bool of_storage;         /* only in runs that measure storage; in others no rank waits for its turn */
	bool of_job; /* it shows how the job was launched, bound and set up: no node is to be drained for it */
	/* What it says of a rank follows from which GPU the rank has, or from sharing it, so from a missing GPU too. */
	enum muster_follows { MUSTER_FOLLOWS_NOTHING = 0, MUSTER_FOLLOWS_SHARING, MUSTER_FOLLOWS_GPU } follows;
	int deadline_ms;         /* for each callback */
	int order;               /* lower runs earlier, the same number by name */
	int begins_before;       /* of a ring: it begins, and run comes, before the first probe of this order */
	enum muster_phase phase; /* of a probe with `together`: the phase that begins with it */
	const struct muster_metric *metrics;
	size_t metric_count;

	/* Optional: once the rank's GPU is known, before CUDA makes a context on the GPU and before any probe runs: for
	 * what that would change, and to start what takes its time by itself, such as opening a large library in a
	 * thread. Must return at once, unless another program is on the GPU, and emits nothing. */
	void (*begin)(struct muster_probe_ctx *ctx);
	/* Alone: measure what can be measured without the other ranks. For a probe with `together`, this is the rank's
	 * own turn: GPUs that share a path to the host never run it at once. May be NULL where there is `together`. */
	int (*run)(struct muster_probe_ctx *ctx, struct muster_error *err);
	/* Optional: the same measurement with all ranks of the node at once, started within milliseconds. */
	int (*together)(struct muster_probe_ctx *ctx, struct muster_error *err);
	/* Optional, all or none: a measurement over all ranks. ring_id runs on those ranks of
	 * the ring that make an id: the first one, and others of a large ring. `between`, which a ring may leave out,
	 * runs after each command, for what goes on by itself after MUSTER_RING_BEGIN; must return at once, and emits
	 * nothing. */
	int (*ring_id)(struct muster_probe_ctx *ctx, unsigned char id[MUSTER_RING_ID_BYTES], struct muster_error *err);
	int (*ring)(struct muster_probe_ctx *ctx, const struct muster_ring *ring, struct muster_error *err);
	void (*between)(void);
	/* Optional: measurements on the communicator of the last ring, while it stands; in the profile quick only
	 * between nodes, and only of a probe that says so. Of a probe with `ring` only the windows of later visits, in
	 * every profile.
	 * Called once for each round that this rank takes part in, after a barrier of the job. A rank whose callback
	 * has failed has no communicator any more and is in no further round, of this probe and of later ones. */
	int (*traffic)(struct muster_probe_ctx *ctx, const struct muster_traffic *traffic, struct muster_error *err);
	enum muster_traffic_shape traffic_shape;
	bool quick_between_nodes;
	int traffic_rounds;      /* of ranks by themselves, a barrier before each; 0: one */
	int traffic_ms_per_step; /* by so much longer than deadline_ms a round may take for each of env's steps */
	/* Where a hang is no fault of the node, such as one in a shared file system: what to do then. Else NULL. */
	const char *hang_advice;
	/* Of a ring, metrics of this probe: the one that ranks must have the same text of to share a ring (by run; of
	 * the rank), and the one that says how fast a ring was (by ring on its first rank). */
	const char *ring_agree, *ring_rate;
	/* Optional: after everything else, for what changed meanwhile (error counters). */
	int (*finish)(struct muster_probe_ctx *ctx, struct muster_error *err);
};

/* All probes in running order (generated by CMake from src/probes/). */
size_t muster_probe_count(void);
const struct muster_probe *muster_probe_at(size_t index);
const struct muster_probe *muster_probe_find(const char *name);
/* Whether a run of this profile on so many nodes has the probe's own traffic, not that of later visits alone. */
bool muster_probe_has_traffic(const struct muster_probe *probe, enum muster_profile profile, int nodes);

/* The catalogue: every metric of every probe, sorted by name. */
size_t muster_metric_count(void);
const struct muster_metric *muster_metric_at(size_t index);
const struct muster_metric *muster_metric_find(const char *name); /* NULL when there is none, or no name */
/* The first sample of the metric of this name; NULL when there is none. */
const struct muster_sample *muster_sample_named(const struct muster_samples *samples, const char *metric);
/* Its number or its text; `otherwise` when it has none. */
double muster_sample_number(const struct muster_samples *samples, const char *metric, double otherwise);
const char *muster_sample_text(const struct muster_samples *samples, const char *metric, const char *otherwise);
size_t muster_metric_index(const struct muster_metric *metric); /* its place in the catalogue, where it must be */

/* The metrics of a table, by their places; of one metric several, if it is shown several times. */
struct muster_shown_metric {
	const struct muster_metric *metric;
	const struct muster_shown *as;
};
const struct muster_shown_metric *muster_metrics_shown(enum muster_shown_table table, size_t *ret_count);

/* What a row must say and does not: -1 with an error that names the metric. Every process checks all rows when it uses
 * the catalogue for the first time, and aborts. */
int muster_registry_check(const struct muster_metric *metric, struct muster_error *err);

/* The name of the probe that yields this metric. */
const char *muster_metric_probe(const struct muster_metric *metric);

#endif
