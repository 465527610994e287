/* host_clock.h - the virtual clock of a simulated worker process
 *
 * A process has one such clock, in libmuster-preload.so: the GPUs, the disks and the process itself have one time. The
 * clock goes on only by what the process waits for, so what a program measures with it is the scenario's value exactly,
 * and nothing sleeps. The program reads the clock as CLOCK_MONOTONIC_RAW; all other clocks are those of the machine
 * that is really there.
 */
#ifndef MUSTER_SIM_STANDINS_HOST_CLOCK_H
#define MUSTER_SIM_STANDINS_HOST_CLOCK_H

#include "sim/standins/base.h"

/* Exported by libmuster-preload.so; any thread may call them. Seconds of virtual time; 0 when the process starts. */
MUSTER_STANDIN_EXPORT double muster_standin_host_now(void);
/* The process has waited until this time; a time that is past changes nothing. */
MUSTER_STANDIN_EXPORT void muster_standin_host_wait_until(double time);

/* For the other stand-ins: the process's clock, or a clock of the library's own where libmuster-preload.so is not
 * loaded, as in their tests. */
struct muster_standin_host_clock {
	double (*now)(void);
	void (*wait_until)(double time);
};
const struct muster_standin_host_clock *muster_standin_host_clock(void);

#endif
