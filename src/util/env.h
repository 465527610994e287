/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - the environment variables that muster reads: all of them, and no other file calls getenv for one */
#ifndef MUSTER_UTIL_ENV_H
#define MUSTER_UTIL_ENV_H

#include <stdbool.h>
#include <stddef.h>

enum muster_env {
	MUSTER_ENV_LEAKS,
	MUSTER_ENV_LOCAL_RANK,
	MUSTER_ENV_METADATA_URL,
	MUSTER_ENV_MPI,
	MUSTER_ENV_PROGRESS,
	MUSTER_ENV_ROOT,
	MUSTER_ENV_SIM_CLUSTER,
	MUSTER_ENV_SIM_CPU_MASK,
	MUSTER_ENV_SIM_DIES,
	MUSTER_ENV_SIM_RANK,
	MUSTER_ENV_SIM_STDOUT,
	MUSTER_ENV_SIM_WRAPPER,
	MUSTER_ENV_STORAGE_IN_PROLOG,
	MUSTER_ENV_TERMINAL,
	MUSTER_ENV_TEST_TIME_SCALE,
	MUSTER_ENV_TRACE,
	MUSTER_ENV_WORKER_WRAPPER,
	MUSTER_ENV_COUNT
};

struct muster_env_variable {
	const char *name;
	bool is_public; /* for users: the manual page has it; the others pass between muster's own processes */
	const char *what;
};

extern const struct muster_env_variable muster_env_variables[MUSTER_ENV_COUNT];

/* The value, or NULL; as of getenv(3). */
const char *muster_env(enum muster_env variable);

/* Set it for this process and those that it starts; `keep`: not when it is set already. */
void muster_env_set(enum muster_env variable, const char *value, bool keep);

/* Unset every variable for which chosen() is true. entry is "NAME=value". */
void muster_env_unset_if(bool (*chosen)(const char *entry, size_t name_length));

/* Whether entry, "NAME=value", comes from Slurm or from a process manager (PMI, PMIx): what they set for a job's ranks,
 * and a user hardly ever. */
bool muster_env_is_of_job(const char *entry, size_t name_length);

/* A variable that srun sets for a step, such as SLURM_STEP_ID; NULL unless srun started this process. mpirun starts its
 * daemons with srun, on all nodes but the first, so that the ranks there inherit the variables of another step. */
const char *muster_env_of_step(const char *name);

#endif
