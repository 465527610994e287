/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - the environment variables that muster reads: all of them, and no other file calls getenv for one */
#include "util/env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct muster_env_variable muster_env_variables[] = {
	[MUSTER_ENV_LEAKS] = { "MUSTER_LEAKS", false, "look for leaks at the end, in a build with AddressSanitizer" },
	[MUSTER_ENV_LOCAL_RANK] = { "MUSTER_LOCAL_RANK", false, "rank that `muster node` has given to this process" },
	[MUSTER_ENV_METADATA_URL] = { "MUSTER_METADATA_URL", true, "instance metadata service; empty for none" },
	[MUSTER_ENV_MPI] = { "MUSTER_MPI", true, "which MPI module muster run opens" },
	[MUSTER_ENV_PROGRESS] = { "MUSTER_PROGRESS", true, "default of --progress" },
	[MUSTER_ENV_ROOT] = { "MUSTER_ROOT", true, "prefix of /sys, /proc, /etc and /dev" },
	[MUSTER_ENV_SIM_CLUSTER] = { "MUSTER_SIM_CLUSTER", false, "simulated cluster, a JSON file" },
	[MUSTER_ENV_SIM_CPU_MASK] = { "MUSTER_SIM_CPU_MASK", false, "CPU mask in place of the simulated rank's" },
	[MUSTER_ENV_SIM_DIES] = { "MUSTER_SIM_DIES", false, "how the simulated rank's worker misbehaves, and where" },
	[MUSTER_ENV_SIM_RANK] = { "MUSTER_SIM_RANK", false, "rank of the simulated cluster" },
	[MUSTER_ENV_SIM_STDOUT] = { "MUSTER_SIM_STDOUT", false, "file that the simulated rank 0 prints to" },
	[MUSTER_ENV_SIM_WRAPPER] = { "MUSTER_SIM_WRAPPER", true, "words before each muster that `muster sim` starts" },
	[MUSTER_ENV_STORAGE_IN_PROLOG] = { "MUSTER_STORAGE_IN_PROLOG", false,
		"yes: the site lets the checks of prolog and epilog write to disks" },
	[MUSTER_ENV_TERMINAL] = { "MUSTER_TERMINAL", true, "1 or 0: whether the output ends on a terminal" },
	[MUSTER_ENV_TEST_TIME_SCALE] = { "MUSTER_TEST_TIME_SCALE", false,
		"how much shorter deadlines are in a simulated run" },
	[MUSTER_ENV_TRACE] = { "MUSTER_TRACE", true, "print every step with its time" },
	[MUSTER_ENV_WORKER_WRAPPER] = { "MUSTER_WORKER_WRAPPER", true, "words before the worker's command line" },
};
_Static_assert(sizeof muster_env_variables / sizeof *muster_env_variables == MUSTER_ENV_COUNT, "one row each");

const char *muster_env(enum muster_env variable)
{
	return getenv(muster_env_variables[variable].name);
}

void muster_env_set(enum muster_env variable, const char *value, bool keep)
{
	setenv(muster_env_variables[variable].name, value, !keep);
}

/* unsetenv moves the rest of `environ` forward: after it the next entry is at the same index. */
void muster_env_unset_if(bool (*chosen)(const char *entry, size_t name_length))
{
	for (size_t i = 0; environ[i];) {
		size_t length = strcspn(environ[i], "=");
		char *name = chosen(environ[i], length) ? strndup(environ[i], length) : NULL;
		if (!name || unsetenv(name) < 0)
			i++;
		free(name);
	}
}

bool muster_env_is_of_job(const char *entry, size_t name_length)
{
	(void)name_length;
	return strncmp(entry, "SLURM_", 6) == 0 || strncmp(entry, "PMI_", 4) == 0 || strncmp(entry, "PMIX_", 5) == 0;
}

/* PMIX_NAMESPACE is "slurm.pmix.JOB.STEP" under srun with PMIx, and another text under mpirun. A process that has no
 * PMIX_NAMESPACE is taken as started by srun. */
const char *muster_env_of_step(const char *name)
{
	const char *job = getenv("PMIX_NAMESPACE"); /* srun without PMIx sets none */
	return job && strncmp(job, "slurm.", 6) != 0 ? NULL : getenv(name);
}
