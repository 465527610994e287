/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h - what is true of a metric, for all its readers; implemented by src/model/metric.c, labels by label.c
 *
 * Each metric is a row of the table of its probe (probes/metrics.h), the only place that describes it. No code decides
 * by the spelling of a metric's name or by the text of a unit.
 */
#ifndef MUSTER_METRIC_H
#define MUSTER_METRIC_H

#include "muster/value.h"

/* What a metric is a fact about. */
enum muster_scope {
	MUSTER_SCOPE_JOB = 0, /* the whole run */
	MUSTER_SCOPE_NODE,    /* a node */
	MUSTER_SCOPE_RANK,    /* a rank */
	MUSTER_SCOPE_GPU,     /* a GPU: label "gpu" is its PCI bus id; belongs to the rank that took it */
	MUSTER_SCOPE_PORT,    /* an RDMA port: label "port" is "<device>/<port number>"; belongs to the node */
	MUSTER_SCOPE_COUNT
};

enum muster_unit {
	MUSTER_UNIT_NONE = 0,
	MUSTER_UNIT_RATIO, /* of two numbers in one unit; no text */
	MUSTER_UNIT_GB_PER_S,
	MUSTER_UNIT_GBIT_PER_S,
	MUSTER_UNIT_TFLOP_PER_S,
	MUSTER_UNIT_GB,
	MUSTER_UNIT_MEBIBYTES,
	MUSTER_UNIT_BYTES,
	MUSTER_UNIT_BITS,
	MUSTER_UNIT_MHZ,
	MUSTER_UNIT_WATTS,
	MUSTER_UNIT_CELSIUS,
	MUSTER_UNIT_HOURS,
	MUSTER_UNIT_SECONDS,
	MUSTER_UNIT_MS,
	MUSTER_UNIT_US,
	MUSTER_UNIT_LANES,
	MUSTER_UNIT_COUNT
};

struct muster_unit_row {
	const char *text;   /* "GB/s"; "" for none */
	const char *ending; /* of the name of each metric in a unit that has a text, and of some others: "_gbps" */
	const char *base;   /* the unit of Prometheus, and by how much a value is multiplied to be in that unit */
	double factor;
	bool speed;    /* how fast the machine works: GB/s and TFLOP/s. A link's own rate, in Gb/s, is none */
	bool transfer; /* how fast data gets from one place to another: a bandwidth, or the time of one message */
	bool time;     /* so short that less is better */
};

extern const struct muster_unit_row muster_units[MUSTER_UNIT_COUNT];

/* What a difference from one run to the next means. */
enum muster_better {
	MUSTER_BETTER_NOT_SAID = 0, /* an error: muster_registry_check */
	MUSTER_BETTER_FACT,         /* constant between changes by an administrator: versions, inventory, settings */
	MUSTER_BETTER_MORE,
	MUSTER_BETTER_LESS,
	MUSTER_BETTER_DRIFTS, /* is another one each time and says nothing: temperatures, clocks, limits */
};

/* Whom or what a text identifies: what a report without names must replace. */
enum muster_identifies {
	MUSTER_IDENTIFIES_NOT_SAID = 0, /* of a text an error */
	MUSTER_IDENTIFIES_NOTHING,      /* a model, a version, a state */
	MUSTER_IDENTIFIES_TEXT,         /* may contain names of nodes, paths, UUIDs, addresses */
	MUSTER_IDENTIFIES_LINE,         /* the same, of the kernel's log or of a library */
	MUSTER_IDENTIFIES_NODE,         /* this and the next ones are names as a whole */
	MUSTER_IDENTIFIES_VM,
	MUSTER_IDENTIFIES_HOST, /* the machine that the node is a virtual machine of */
	MUSTER_IDENTIFIES_GROUP,
	MUSTER_IDENTIFIES_REGION,
	MUSTER_IDENTIFIES_SERIAL,
	MUSTER_IDENTIFIES_FOLDER,
	MUSTER_IDENTIFIES_ADDRESS,
	MUSTER_IDENTIFIES_LID,        /* a number */
	MUSTER_IDENTIFIES_PARTITIONS, /* lists of names, each in a form of its own */
	MUSTER_IDENTIFIES_SWITCHES,
	MUSTER_IDENTIFIES_PROCESSES,
	MUSTER_IDENTIFIES_JOBS,
	MUSTER_IDENTIFIES_COUNT
};

/* An event of the kernel's log is several samples of one node with the same labels: its age, how often it was logged,
 * and the newest line. */
enum muster_event_source { MUSTER_EVENT_XID = 0, MUSTER_EVENT_SXID, MUSTER_EVENT_KERNEL, MUSTER_EVENT_TABLE_COUNT };
enum muster_event_part { MUSTER_EVENT_NO_PART = 0, MUSTER_EVENT_AGE, MUSTER_EVENT_COUNT, MUSTER_EVENT_LINE };

/* Tables of the reports whose rows or columns are metrics. */
enum muster_shown_table {
	MUSTER_SHOWN_MACHINE = 0, /* inventory: properties of a node by subject */
	MUSTER_SHOWN_SOFTWARE,
	MUSTER_SHOWN_GPUS,
	MUSTER_SHOWN_NETWORK,
	MUSTER_SHOWN_RANKS, /* inventory: columns of the tables of ranks and of ports */
	MUSTER_SHOWN_PORTS,
	MUSTER_SHOWN_PAGE_GPUS, /* HTML page: columns of the GPUs and of the ports of a node */
	MUSTER_SHOWN_PAGE_PORTS,
	MUSTER_SHOWN_SPEEDS,  /* summary: what was measured, what is required, and how much of the limit that is */
	MUSTER_SHOWN_SLOWEST, /* by which the slowest ranks are found */
	MUSTER_SHOWN_TICKET,  /* for a support desk: texts of a node, a GPU or a port */
	MUSTER_SHOWN_AZURE,   /* fields for Azure: the first one is impactedResourceId, then additional properties */
};

/* That a metric is shown in a table, and how. */
struct muster_shown {
	enum muster_shown_table table;
	int place; /* lower numbers come first */
	const char *title;
	const char *key, *value; /* only samples whose label `key` has this value, or that have no such label */
	const char *limit;       /* the metric of its limit, where .limits names none */
	/* of the inventory */
	const char *second, *between, *after; /* with a second metric: "12" " x " "25 GB/s" "" */
	const char *unless;                   /* but not where the second one has this value */
	bool own;                             /* differs from node to node by its nature: an address, a place */
	bool counted;                         /* "8 x NVIDIA H100": how many of them are part of the value */
	bool close;                           /* numbers within 1 % of the median are equal */
	bool bare;                            /* without its unit, which the title has */
	bool optional;                        /* no property when no node has it */
	bool is_link; /* lanes and their speed, "IB 4x HDR"; where the port is no InfiniBand, what it is */
};

#define MUSTER_LIMITS_MOST 2

struct muster_metric {
	const char *name; /* "gpu.h2d_gbps": lower case, unit in the name where there is one */
	enum muster_type type;
	enum muster_scope scope;
	enum muster_unit unit;
	enum muster_better better;
	const char *labels[MUSTER_LABELS_MAX];      /* names of the labels that a sample carries; NULL ends them */
	const char *meaning;                        /* one line */
	const char *if_null;                        /* what to do where a check needs it and it is null; or NULL */
	const char *limits[MUSTER_LIMITS_MOST + 1]; /* metrics: the first one that is known is shown beside a value */
	const char *called;                         /* of a limit: what people call it; NULL: its name */
	const char *exported_as;                    /* its name for Prometheus, where its rules forbid the own one */
	enum muster_identifies identifies;          /* its text; of a number, texts about it */
	/* NULL, or it is measured in windows, and which others are counted as steady or not with it: "copies" */
	const char *windows;
	bool is_steadiness;   /* the share of slow windows of what has its scope; not measured but derived */
	bool varies;          /* by far more than other speeds: measured while others use the same path */
	bool within_gpu;      /* programs on other GPUs of the node do not slow it down */
	bool is_machine_type; /* compared in any case, and by each name that the file of the machine type lists */
	/* What of the node it counts: parts that have names, or how many ranks there are for each GPU. */
	enum muster_counts { MUSTER_COUNTS_OTHER, MUSTER_COUNTS_GPUS, MUSTER_COUNTS_PORTS, MUSTER_COUNTS_RANKS } counts;
	bool counts_wrong;  /* values of a result that has one correct form */
	bool counts_errors; /* events that a healthy part has none of, or few */
	enum muster_event_part event_part;
	enum muster_event_source event; /* unless event_part is 0 */
	/* NULL, or the metric of a rank whose lowest value on the node this is, or, as a text, the local ranks that
	 * have it; not measured but derived. */
	const char *lowest_of;
	bool is_usual; /* a limit that follows from the run's own values of other parts */
	/* Which GPU of its node a bus id is: GPU_ORDER lists the bus ids of a node, GPU_INDEX is a number of each. */
	enum muster_gpu_index_as { MUSTER_NO_GPU_INDEX = 0, MUSTER_GPU_ORDER, MUSTER_GPU_INDEX } gpu_index;
	bool is_exchange;                 /* of two ranks, each of which has a sample of it */
	const struct muster_shown *shown; /* the last one has no title; NULL: in no table */
};

const char *muster_scope_name(enum muster_scope scope); /* "job", "node", "rank", "gpu", "port" */

const char *muster_metric_unit(const struct muster_metric *metric); /* the unit's text */

/* Which side of a usual value is the worse one: below it where more is better, above it where less is better and of
 * times; of other numbers, and of texts, none is. */
enum muster_worse { MUSTER_WORSE_NEITHER = 0, MUSTER_WORSE_BELOW, MUSTER_WORSE_ABOVE };
enum muster_worse muster_metric_worse(const struct muster_metric *metric);

/* Whether its values scatter from one measurement to the next: a speed or a time, not a count. */
bool muster_metric_scatters(const struct muster_metric *metric);

/* The best of its values, at least one: the highest where more is better, else the lowest. */
double muster_metric_best(const struct muster_metric *metric, const double *values, size_t count);

/* A speed of which more is better: no limit, and not what is only usual. */
bool muster_metric_is_speed(const struct muster_metric *metric);

/* By how much, as a share, the best windows of two runs differ without a cause, besides what the windows tell: 8 %,
 * or 5 % of repeated runs, whose best is the best of more (docs/dev/measurements.md). Copies of all GPUs at once share
 * host memory with other users: 41 to 55 GB/s were seen on the same machine. */
double muster_metric_noise(const struct muster_metric *metric, bool repeated);

/* What a label tells of a sample. */
enum muster_role {
	MUSTER_ROLE_KEY = 0,  /* what was measured: a sample with another value is another measurement */
	MUSTER_ROLE_PLACE,    /* the GPU or the port, which findings name too */
	MUSTER_ROLE_OF_PLACE, /* a property of that place */
	MUSTER_ROLE_PART,     /* the device of the node that took part */
	MUSTER_ROLE_PEER,     /* with whom */
	MUSTER_ROLE_ROUTE,    /* what the data went over */
	MUSTER_ROLE_NOTE,     /* tells people more of the value */
};

struct muster_label_row {
	const char *name;
	enum muster_type type;
	enum muster_role role;
	enum muster_identifies identifies;
	bool variant; /* values are comparable only where this label is equal */
};

/* NULL when no metric has such a label. */
const struct muster_label_row *muster_label_find(const char *name);
/* A number that could not be had is a text: "unknown". */
bool muster_label_fits(const struct muster_label_row *row, enum muster_type type);
/* Its role; of an unknown label that of a key. */
enum muster_role muster_label_role(const char *name);
/* Whether the place says it already: no writer repeats it. */
bool muster_label_is_of_place(const char *name);
bool muster_metric_has_peer(const struct muster_metric *metric);

/* A metric by its name; NULL when there is none. The catalogue is muster_metric_find (probe.h): who stands above the
 * probes is handed it. */
typedef const struct muster_metric *muster_metric_find_fn(const char *name);

#endif
