/* limits.c - what a GPU's parts can do at most, by published figures */
#include "probes/gpu/limits.h"

#include <stddef.h>

double muster_gpu_pcie_gbps(unsigned int generation, unsigned int lanes)
{
	/* Transfers a second on each lane, and the share of the bits that is left after encoding: PCI Express Base
	 * Specification 6.0 (8b/10b, 128b/130b; 242 of the 256 bytes of a FLIT). */
	static const struct {
		double gigatransfers, left;
	} generations[] = {
		[1] = { 2.5, 8.0 / 10 },
		[2] = { 5, 8.0 / 10 },
		[3] = { 8, 128.0 / 130 },
		[4] = { 16, 128.0 / 130 },
		[5] = { 32, 128.0 / 130 },
		[6] = { 64, 242.0 / 256 },
	};
	if (generation >= sizeof generations / sizeof *generations)
		return 0;
	return generations[generation].gigatransfers * generations[generation].left * lanes / 8;
}

double muster_gpu_memory_gbps(int bus_bits, unsigned int clock_mhz)
{
	return bus_bits / 8.0 * clock_mhz * 2 / 1e3;
}

double muster_gpu_matmul_bf16_tflops(int major, int minor, int multiprocessors, unsigned int clock_mhz)
{
	/* Dense operations for each multiprocessor and clock; a multiply-add is two. Sources: NVIDIA A100 Tensor Core
	 * GPU Architecture (1,024 multiply-adds), NVIDIA H100 Tensor Core GPU Architecture (twice the A100). */
	static const struct {
		int major, minor;
		double operations;
	} published[] = {
		{ 8, 0, 2048 },
		{ 9, 0, 4096 },
	};
	for (size_t i = 0; i < sizeof published / sizeof *published; i++)
		if (published[i].major == major && published[i].minor == minor)
			return published[i].operations * multiprocessors * clock_mhz / 1e6;
	return 0;
}
