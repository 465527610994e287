/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_event.h - one line of the kernel's log becomes an event, if it tells of one; pure
 *
 * Any user can bring words into the log: by the name of a process, which may begin a line, and by the name of a file.
 * So lines about a process are left out, and the words of an event count only where the driver writes them.
 */
#ifndef MUSTER_SYSTEM_KERNEL_EVENT_H
#define MUSTER_SYSTEM_KERNEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>

enum muster_kernel_event_kind {
	MUSTER_KERNEL_XID = 0,          /* an error that the NVIDIA driver reports of a GPU */
	MUSTER_KERNEL_SXID,             /* of an NVSwitch */
	MUSTER_KERNEL_GPU_LOST,         /* a GPU that is gone from the bus, told without an Xid */
	MUSTER_KERNEL_GPU_INIT,         /* a GPU that could not be started */
	MUSTER_KERNEL_RESET_NEEDED,     /* the NVIDIA driver says that only a reset of the GPU helps */
	MUSTER_KERNEL_DRIVER_REBOOT,    /* only a reboot */
	MUSTER_KERNEL_NVSWITCH,         /* an NVSwitch could not be started, or has failed without an SXid */
	MUSTER_KERNEL_AER_FATAL,        /* a fatal error of a PCIe device, or its containment (DPC) */
	MUSTER_KERNEL_AER_NONFATAL,     /* an error that was not corrected, and is not fatal */
	MUSTER_KERNEL_AER_CORRECTED,    /* an error that the hardware corrected */
	MUSTER_KERNEL_PCIE_LINK,        /* the link of a slot went down, or its card is gone */
	MUSTER_KERNEL_NIC_ERROR,        /* a fault of a network adapter */
	MUSTER_KERNEL_NIC_FATAL,        /* a network adapter that cannot be recovered */
	MUSTER_KERNEL_NIC_QUEUE,        /* a queue of a network adapter timed out */
	MUSTER_KERNEL_LINK_FLAP,        /* of no line alone: of a link that goes down and comes up again */
	MUSTER_KERNEL_LINK_FLAPS,       /* of three within three hours */
	MUSTER_KERNEL_LINK_FLAPS_DAY,   /* of five within a day */
	MUSTER_KERNEL_IOMMU,            /* an access that the IOMMU refused, or a fault of the IOMMU itself */
	MUSTER_KERNEL_MCE,              /* a machine check that was not corrected */
	MUSTER_KERNEL_EDAC_UNCORRECTED, /* an error of the host's memory that was not corrected */
	MUSTER_KERNEL_EDAC_CORRECTED,   /* an error of the host's memory, or a machine check, that was corrected */
	MUSTER_KERNEL_OOM,              /* the node as a whole had no memory left; not the limit of one job */
	MUSTER_KERNEL_HUNG_TASK,        /* a process was blocked longer than kernel.hung_task_timeout_secs */
	MUSTER_KERNEL_LOCKUP,           /* a CPU was stuck for less than 120 s, or for an unknown time */
	MUSTER_KERNEL_LOCKUP_LONG,      /* for 120 s or more */
	MUSTER_KERNEL_OOPS,             /* a fault of the kernel's own code */
	MUSTER_KERNEL_DISK_LOST,        /* the kernel has given a disk up, or an array has lost one */
	MUSTER_KERNEL_DISK_ERROR,       /* a disk's request failed or timed out */
	MUSTER_KERNEL_FS_ERROR,         /* an error of a file system that goes on */
	MUSTER_KERNEL_READ_ONLY,        /* a file system that has stopped, or takes no more writes */
	/* why the NVIDIA driver does not start, or not for a GPU */
	MUSTER_KERNEL_DRIVER_VERSION,
	MUSTER_KERNEL_DRIVER_UNSIGNED,
	MUSTER_KERNEL_DRIVER_FIRMWARE,
	MUSTER_KERNEL_DRIVER_PROBE,
	/* no events themselves */
	MUSTER_KERNEL_LINK_DOWN,
	MUSTER_KERNEL_LINK_UP,
	MUSTER_KERNEL_DRIVER_STARTS, /* the NVIDIA driver begins to load: all that it says of GPUs comes later */
	MUSTER_KERNEL_DRIVER_LOADED, /* its last line of loading: what it says while it finds the GPUs came before */
	MUSTER_KERNEL_GPU_RESET,     /* what a GPU or an NVSwitch needed was done: see enum muster_kernel_ends */
	MUSTER_KERNEL_EVENT_COUNT
};

/* "xid", "aer-fatal", ...: labels of samples, and the table of expectation files. */
extern const char *const muster_kernel_event_names[MUSTER_KERNEL_EVENT_COUNT];

/* What a line ends of its device, beside what it tells. */
enum muster_kernel_ends {
	MUSTER_KERNEL_ENDS_NOTHING = 0,
	MUSTER_KERNEL_ENDS_ACTION, /* what the driver asked for before (Xid 154) */
	MUSTER_KERNEL_ENDS_RESET,  /* that, and all errors that a reset cures */
};

struct muster_kernel_event {
	enum muster_kernel_event_kind kind;
	enum muster_kernel_ends ends;
	/* PCI bus id in sysfs form, "mc0" of a memory controller, "cpu12", "nvme1", a file system's device; "none" */
	char device[40];
	char code[40]; /* of an Xid or SXid: "79", "149-fatal", "154-drain-p2p", "74-harmless"; "" for others */
	/* The line adds to an event that another line, within a second, tells of; alone it counts as one. */
	bool follows;
	unsigned long weight; /* of an event's lines the heaviest is its evidence, of several the newest */
};

/* Whether the text of a record, which is one line, tells of an event. False leaves *ret alone. */
bool muster_kernel_event_parse(const char *text, struct muster_kernel_event *ret);
/* The part of it that knows the NVIDIA driver. */
bool muster_kernel_nvidia_parse(const char *text, struct muster_kernel_event *ret);

/* ---- the events of a kernel log, counted: one entry for each distinct event; pure ----
 *
 * Lines may come in either order of time, each read of a log in one. What is kept is bounded, whatever the log holds.
 */

enum {
	MUSTER_KERNEL_SEEN_MAX = 64,     /* entries of each group */
	MUSTER_KERNEL_LINKS_MAX = 64,    /* network links with one half of a flap */
	MUSTER_KERNEL_ENDS_MAX = 64,     /* of devices whose errors ended */
	MUSTER_KERNEL_FLAPS = 5,         /* so many are looked at together */
	MUSTER_KERNEL_LINE_MAX = 240,    /* bytes kept of a line */
	MUSTER_KERNEL_TRAINING_S = 1800, /* since boot: links that come and go are no flaps yet */
};

enum muster_kernel_group { MUSTER_KERNEL_XIDS = 0, MUSTER_KERNEL_SXIDS, MUSTER_KERNEL_OTHERS, MUSTER_KERNEL_GROUPS };

struct muster_kernel_seen {
	struct muster_kernel_event event;
	bool during;   /* the run */
	bool told;     /* for the user of the tally; false at first */
	double newest; /* seconds since boot, of the newest line */
	unsigned long count;
	char line[MUSTER_KERNEL_LINE_MAX +
		  1]; /* the heaviest, of these the newest; of one event's the one that tells it */
	double last;  /* of the line that was read last */
	bool last_follows;
};

struct muster_kernel_half { /* of a flap: the one that was read first */
	char device[sizeof((struct muster_kernel_event *)0)->device];
	double at;
	bool open, during;
	char line[MUSTER_KERNEL_LINE_MAX + 1];
	double flaps[MUSTER_KERNEL_FLAPS]; /* when the last ones were, the last read first */
	size_t flap_count;
};

struct muster_kernel_line {
	const char *text;
	double seconds; /* since boot */
	bool during, backwards;
};

/* An error that the firmware reports in several lines, as far as they were read. */
struct muster_kernel_firmware {
	char number[16], section[40], device[40]; /* number: "{3" */
	char line[MUSTER_KERNEL_LINE_MAX + 1];
	int severity, type; /* of the record, and of the section */
	double seconds;
	bool during, told;
};
typedef void muster_kernel_found_fn(
	void *arg, const struct muster_kernel_event *event, const char *text, double seconds, bool during);

/* Whether the line is of such an error; found is called for each error that is complete. End: nothing follows. */
bool muster_kernel_firmware_take(struct muster_kernel_firmware *firmware, const struct muster_kernel_line *line,
	muster_kernel_found_fn *found, void *arg);
void muster_kernel_firmware_end(struct muster_kernel_firmware *firmware, muster_kernel_found_fn *found, void *arg);

struct muster_kernel_tally {
	struct muster_kernel_seen seen[MUSTER_KERNEL_GROUPS][MUSTER_KERNEL_SEEN_MAX];
	size_t count[MUSTER_KERNEL_GROUPS];
	unsigned long left_out; /* events that found no room, or made room for newer ones or other kinds */
	double gpus_since;      /* seconds since boot: what the NVIDIA driver said before is over */
	double driver_by;       /* for the user: by then the driver was loaded, whatever lines say; 0: not known */
	struct muster_kernel_end {
		struct muster_kernel_event of;
		double at; /* the newest */
	} ends[MUSTER_KERNEL_ENDS_MAX];
	size_t end_count;
	struct muster_kernel_half halves[MUSTER_KERNEL_LINKS_MAX];
	size_t half_count;
	bool backwards; /* the line before this one came so */
	struct muster_kernel_firmware firmware;
};

/* A line that is younger than the one before, or with `backwards` older. seconds: since boot. All zeros is an empty
 * tally. */
void muster_kernel_tally_add(
	struct muster_kernel_tally *tally, const char *text, double seconds, bool during, bool backwards);
/* After the last line of each read: what was read of an error of the firmware is all of it. */
void muster_kernel_tally_end(struct muster_kernel_tally *tally);

#endif
