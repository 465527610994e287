/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_log.h - NCCL's own debug output: have it written to us, and read what it says
 *
 * NCCL offers no call that tells which transport carries a communicator; its debug output does. The output is a
 * vendor's free text: every reader here is bounded and takes any bytes.
 */
#ifndef MUSTER_VENDOR_NCCL_LOG_H
#define MUSTER_VENDOR_NCCL_LOG_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_nccl_log {
	/* Distinct transports of this process's channels, separated by spaces: inside the node first, then the network.
	 * Device numbers and details of the protocol are left out: "P2P/CUMEM NET/IB/GDRDMA". "" when there are none.
	 */
	char transports[256];
	/* Devices of the network that NCCL uses, in its order, separated by spaces: "mlx5_ib0:1 mlx5_ib1:1", "eth0". */
	char devices[1024];
	size_t network_channels; /* channels that go over a network */
	size_t gdr_channels;     /* network channels that use GPUDirect RDMA */
};

/* Send NCCL's debug output to memory of this process. Must come before the first call into NCCL that reads its
 * environment. A user's own NCCL_DEBUG_FILE is not touched: it gets no lines. NCCL_DEBUG is raised to INFO, and INIT,
 * NET and TUNING are added to NCCL_DEBUG_SUBSYS (choose_parts in nccl_log.c has the cases). Later calls do nothing. */
int muster_nccl_log_start(struct muster_error *err);

/* What NCCL has written so far, NUL-terminated: the process keeps it until the next call, which reads only what NCCL
 * has added since. NULL with err when the log cannot be read. Not for several threads at once. */
const char *muster_nccl_log_read(size_t *ret_length, struct muster_error *err);

/* What carries the channels in this text, which may be a part of the log; of a log without such lines all members are
 * empty. */
void muster_nccl_log_parse(const char *text, size_t length, struct muster_nccl_log *ret);

/* How two ranks of a communicator send to each other. */
struct muster_nccl_way {
	/* "P2P/CUMEM", "NET/IB/GDRDMA"; several joined by "+"; "unknown" when no channel joins the two */
	char transport[160];
	/* This rank's network devices of these channels: "mlx5_ib3:1"; several joined by "+"; "none" when they use no
	 * network; "unknown" when the log does not name it */
	char nic[256];
};

/* What the log says from byte `from` on of the channels between ranks `own` and `peer` of one communicator. Channels
 * for ncclSend and ncclRecv count alone, where the log tells them from the channels of collectives. Devices are named
 * anywhere in the log. */
void muster_nccl_log_parse_way(
	const char *text, size_t length, size_t from, int own, int peer, struct muster_nccl_way *ret);

/* Over how many channels two ranks of a communicator send to each other, whose lines begin at byte `from`; -1 when the
 * log does not say. */
int muster_nccl_log_parse_channels(const char *text, size_t length, size_t from);

/* The end of the log on one line, for an error: NCCL's last ten warnings, or its last ten lines when it gave none,
 * joined by " | ". What does not fit is cut from the front. Bytes that do not print become '?'. Returns out. */
const char *muster_nccl_log_tail(const char *text, size_t length, char *out, size_t size);

/* A copy of the log as a string in which all but the newlines prints; the caller frees. */
char *muster_nccl_lines_copy(const char *text, size_t length);
/* Take the next line off rest, without blanks at its end; NULL at the end. */
char *muster_nccl_line_next(char **rest);
/* What follows the first `what` in text; NULL when it does not occur. */
char *muster_nccl_after(char *text, const char *what);
bool muster_nccl_starts(const char *text, const char *what);
/* 16 of "24 coll channels, 0 collnet channels, 16 nvls channels, ..." and " nvls channels"; -1 when a message does not
 * say. */
int muster_nccl_count_of(const char *message, const char *what);

#endif
