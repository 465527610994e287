/* hidden_gpus.h - whether CUDA_VISIBLE_DEVICES hides every GPU */
#ifndef MUSTER_WORKER_HIDDEN_GPUS_H
#define MUSTER_WORKER_HIDDEN_GPUS_H

/* The GPUs that NVML shows, when CUDA_VISIBLE_DEVICES hides all of them from CUDA; else 0. */
unsigned int muster_gpus_hidden(void);

#endif
