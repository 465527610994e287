/* misbehave.h - a stand-in that misbehaves on purpose
 *
 * Files of the stand-ins that export functions are compiled with -finstrument-functions: the compiler calls one hook at
 * the entry of every function, and the hook looks whether the scenario has this rank's worker misbehave there. No
 * stand-in knows of it.
 */
#ifndef MUSTER_SIM_STANDINS_MISBEHAVE_H
#define MUSTER_SIM_STANDINS_MISBEHAVE_H

/* The worker is about to load this library: a stand-in has no function to be met in yet. */
void muster_standin_loads(const char *file);

#endif
