/* counters.c - a port's error counters: their values, and what was added to them */
#include "probes/ib_link/ports.h"

#include "system/sysfs.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char *const counter_files[MUSTER_RDMA_COUNTERS] = { "counters/link_downed", "counters/link_error_recovery",
	"counters/symbol_error", "counters/port_rcv_errors", "counters/port_rcv_remote_physical_errors",
	"counters/port_xmit_discards", "counters/local_link_integrity_errors",
	"counters/excessive_buffer_overrun_errors", "counters/VL15_dropped", "hw_counters/out_of_sequence",
	"hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err", "hw_counters/rnr_nak_retry_err",
	"hw_counters/implied_nak_seq_err" };

void muster_rdma_counters_measure(
	struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, bool again, long start[MUSTER_RDMA_COUNTERS])
{
	const char *metric = again ? "port.counter_increase" : "port.counter";
	size_t present = 0;
	bool unknown = again && !start;
	for (size_t i = 0; i < MUSTER_RDMA_COUNTERS; i++) {
		char path[PATH_MAX];
		struct muster_error why;
		long now = -1;
		const char *counter = strrchr(counter_files[i], '/') + 1;
		if (!again)
			start[i] = -1;
		if (access(muster_rdma_path(ctx, port, true, counter_files[i], path, sizeof path), F_OK) != 0)
			continue;
		present++;
		int result = unknown ? muster_fail(&why, MUSTER_EIO,
					       "the worker that read %s at the start was replaced", counter)
				     : muster_sysfs_number(path, &now, &why);
		if (!again)
			start[i] = now;
		else if (result == 0 && start[i] < 0)
			result = muster_fail(&why, MUSTER_EIO, "%s could not be read at the start", path);
		else if (result == 0 && now < start[i])
			result = muster_fail(&why, MUSTER_EIO, "%s was reset: from %ld to %ld", path, start[i], now);
		struct muster_value value = muster_number((double)(again && result == 0 ? now - start[i] : now));
		muster_rdma_emit_with(ctx, port, metric, counter, result, value, why.text);
	}
	if (present == 0)
		muster_rdma_emit_with(
			ctx, port, metric, "none", -1, muster_null(), "the port has no error counters in sysfs");
}
