/* kernel_log.h - what the simulated kernel logs while muster runs */
#ifndef MUSTER_SIM_STANDINS_KERNEL_LOG_H
#define MUSTER_SIM_STANDINS_KERNEL_LOG_H

/* Append the node's lines for "now" to its /dev/kmsg; only the first call of all the node's processes does. */
void muster_standin_log_now(void);

#endif
