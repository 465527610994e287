/* kernel_event.h - one line of the kernel's log becomes an event, if it tells of one; pure
 *
 * Only lines that begin as the kernel or its drivers begin them count: a text that a user brings into the log, such as
 * the name of a process, is never at a line's beginning.
 */
#ifndef MUSTER_SYSTEM_KERNEL_EVENT_H
#define MUSTER_SYSTEM_KERNEL_EVENT_H

#include <stdbool.h>

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

#endif
