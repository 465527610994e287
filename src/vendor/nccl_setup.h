/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_setup.h - what NCCL's log says of its set-up: network plugin, CollNet, NVLS, algorithms */
#ifndef MUSTER_VENDOR_NCCL_SETUP_H
#define MUSTER_VENDOR_NCCL_SETUP_H

#include <stddef.h>
#include <stdint.h>

enum { MUSTER_NCCL_ALGORITHMS = 32 };

struct muster_nccl_setup {
	/* The network in use, as NCCL names it: "IB" and "Socket" are its own, every other one is a plugin's
	 * ("IBext_v8", "AWS Libfabric"). "" when the log does not say. */
	char network[64];
	/* The file of the plugin that was loaded, as a path where NCCL or the plugin writes one; "" when none was, or
	 * NCCL does not name it. */
	char plugin_file[512];
	/* CollNet, which SHARP needs: "used" by this part of the log's ring, "loaded" from the plugin, "none". */
	const char *collnet;
	int nvls_channels; /* channels of NVLink SHARP; -1 when the log does not say (NCCL before 2.17) */
	/* Algorithm and protocol of the all-reduces, in the order in which their sizes came first. Only rank 0 of a
	 * ring writes them, since NCCL 2.20. */
	struct {
		uint64_t bytes;
		char name[48]; /* "RING/SIMPLE" */
	} algorithms[MUSTER_NCCL_ALGORITHMS];
	size_t algorithm_count;
};

/* Takes any bytes. */
void muster_nccl_setup_parse(const char *text, size_t length, struct muster_nccl_setup *ret);

#endif
