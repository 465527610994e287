/* limits.h - what a GPU's parts can do at most, by published figures */
#ifndef MUSTER_PROBES_GPU_LIMITS_H
#define MUSTER_PROBES_GPU_LIMITS_H

/* GB/s that a PCIe link carries in one direction after encoding; 0 for a generation that is not known. */
double muster_gpu_pcie_gbps(unsigned int generation, unsigned int lanes);

/* GB/s of memory that moves data on both edges of its clock (HBM, GDDR), as NVML gives the clock. */
double muster_gpu_memory_gbps(int bus_bits, unsigned int clock_mhz);

/* TFLOP/s of dense BF16 matrix products; 0 where no figure is published for the compute capability. */
double muster_gpu_matmul_bf16_tflops(int major, int minor, int multiprocessors, unsigned int clock_mhz);

#endif
