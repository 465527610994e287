/* kernel_event.h - one line of the kernel's log becomes an event, if it tells of one; pure
 *
 * Only lines that begin as the kernel or its drivers begin them count: a text that a user brings into the log, such as
 * the name of a process, is never at a line's beginning.
 */
#ifndef MUSTER_SYSTEM_KERNEL_EVENT_H
#define MUSTER_SYSTEM_KERNEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>

enum muster_kernel_event_kind {
	MUSTER_KERNEL_XID = 0, /* an error that the NVIDIA driver reports of a GPU */
	MUSTER_KERNEL_SXID,    /* of an NVSwitch */
	MUSTER_KERNEL_GPU_LOST,
	MUSTER_KERNEL_GPU_INIT,
	MUSTER_KERNEL_AER_FATAL,
	MUSTER_KERNEL_AER_NONFATAL,
	MUSTER_KERNEL_AER_CORRECTED,
	MUSTER_KERNEL_PCIE_LINK,
	MUSTER_KERNEL_NIC_ERROR,
	MUSTER_KERNEL_LINK_FLAP, /* of no line alone: of a link that goes down and comes up again */
	MUSTER_KERNEL_MCE,
	MUSTER_KERNEL_EDAC_UNCORRECTED,
	MUSTER_KERNEL_EDAC_CORRECTED,
	MUSTER_KERNEL_OOM,
	MUSTER_KERNEL_HUNG_TASK,
	MUSTER_KERNEL_LOCKUP,
	MUSTER_KERNEL_READ_ONLY,
	/* no events themselves */
	MUSTER_KERNEL_LINK_DOWN,
	MUSTER_KERNEL_LINK_UP,
	MUSTER_KERNEL_DRIVER_STARTS, /* the NVIDIA driver begins to load: all that it says of GPUs comes later */
	MUSTER_KERNEL_DRIVER_LOADED, /* its last line of loading: what it says while it finds the GPUs came before */
	MUSTER_KERNEL_EVENT_COUNT
};

/* "xid", "aer-fatal", ...: labels of samples, and the table of expectation files. */
extern const char *const muster_kernel_event_names[MUSTER_KERNEL_EVENT_COUNT];

struct muster_kernel_event {
	enum muster_kernel_event_kind kind;
	/* PCI bus id in sysfs form, "mc0" of a memory controller, "cpu12", a file system's device; "none" */
	char device[40];
	char code[12]; /* of an Xid or SXid, in decimal; "" for others */
	/* The line adds to an event that another line, within a second, tells of; alone it counts as one. */
	bool follows;
};

/* Whether the text of a record, which is one line, tells of an event. False leaves *ret alone. */
bool muster_kernel_event_parse(const char *text, struct muster_kernel_event *ret);

/* ---- the events of a kernel log, counted: one entry for each distinct event; pure ----
 *
 * Lines may come in either order of time, each read of a log in one. What is kept is bounded, whatever the log holds.
 */

enum {
	MUSTER_KERNEL_SEEN_MAX = 64,     /* entries of each group */
	MUSTER_KERNEL_LINKS_MAX = 64,    /* network links with one half of a flap */
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
	char line[MUSTER_KERNEL_LINE_MAX + 1]; /* the newest; of one event's lines the one that tells it */
	double last;                           /* of the line that was read last */
	bool last_follows;
};

struct muster_kernel_half { /* of a flap: the one that was read first */
	char device[sizeof((struct muster_kernel_event *)0)->device];
	double at;
	bool open, during;
	char line[MUSTER_KERNEL_LINE_MAX + 1];
};

struct muster_kernel_tally {
	struct muster_kernel_seen seen[MUSTER_KERNEL_GROUPS][MUSTER_KERNEL_SEEN_MAX];
	size_t count[MUSTER_KERNEL_GROUPS];
	unsigned long left_out; /* events that found no room, or made room for newer ones or other kinds */
	double gpus_since;      /* seconds since boot: what the NVIDIA driver said before is over */
	struct muster_kernel_half halves[MUSTER_KERNEL_LINKS_MAX];
	size_t half_count;
	bool backwards; /* the line before this one came so */
};

/* A line that is younger than the one before, or with `backwards` older. seconds: since boot. All zeros is an empty
 * tally. */
void muster_kernel_tally_add(
	struct muster_kernel_tally *tally, const char *text, double seconds, bool during, bool backwards);

#endif
