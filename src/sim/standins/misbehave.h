/* misbehave.h - a stand-in that misbehaves on purpose
 *
 * Files of the stand-ins that export functions are compiled with -finstrument-functions: the compiler calls one hook at
 * the entry of every function, and the hook looks whether the scenario has this rank's worker misbehave there. No
 * stand-in knows of it; only codes that a function is to return, and times that it is to take, are asked for by the
 * first function that a call of CUDA or NVML goes through.
 */
#ifndef MUSTER_SIM_STANDINS_MISBEHAVE_H
#define MUSTER_SIM_STANDINS_MISBEHAVE_H

/* The worker is about to load this library: a stand-in has no function to be met in yet. */
void muster_standin_loads(const char *file);

/* Take the time that the scenario has for the call which this thread is in, and give the code that it must return; 0:
 * the scenario has none. bus_id: of the GPU that the call is about; NULL: it is not known yet, and what the scenario
 * has for one GPU waits for the next question. */
int muster_standin_answer(const char *bus_id);

#endif
