/* SPDX-License-Identifier: Apache-2.0 */
/* module.h - MPI as a shared object of its own, the only part that is linked with libmpi
 *
 * Only `muster run` opens it. So no worker and no other command loads libmpi and its libraries, a node without MPI can
 * be measured, and one installation can have a module for each MPI of a site: <libdir>/muster/mpi/<name>.so.
 */
#ifndef MUSTER_TRANSPORT_MODULE_H
#define MUSTER_TRANSPORT_MODULE_H

#include "muster/error.h"
#include "transport/transport.h"

/* For HWLOC_PLUGINS_BLACKLIST: hwloc opens its plugins before it can be told to leave them out, and these open drivers:
 * 0.1 s, and nine times that from a cold disk. */
#define MUSTER_HWLOC_PLUGINS "hwloc_cuda.so,hwloc_nvml.so,hwloc_opencl.so,hwloc_gl.so,hwloc_rsmi.so,hwloc_levelzero.so"

#define MUSTER_MPI_MODULE_SYMBOL "muster_mpi_module"
enum { MUSTER_MPI_MODULE_VERSION = 1 };

/* What a module exports under that symbol. */
struct muster_mpi_module {
	unsigned int version;
	/* Start MPI, without the fabric under test: shared memory and TCP only.
	 * MPI_Init waits for ever for a rank that died before it. *ret lives as long as the process. warning->text is
	 * "" without a warning. */
	int (*open)(const struct muster_clock *clock, int *argc, char ***argv, struct muster_transport **ret,
		struct muster_error *warning, struct muster_error *err);
};

/* Open a module of this directory: the one that $MUSTER_MPI names, or else the first in alphabetical order that can be
 * opened. Sets the variables of an MPI that comes with it (see below). -1 with MUSTER_ELIB and the loader's message for
 * each that was tried. */
int muster_mpi_module_open(const char *directory, const struct muster_mpi_module **ret, struct muster_error *err);

/* Before MPI starts: this process's rank and the job's size, from the launcher's environment; 0 and 1 without one. */
int muster_launch_rank(void);
int muster_launch_size(void);
/* Whether a launcher that MPI knows started this process. Without one, MPI_Init starts daemons or, inside a Slurm step
 * with the wrong --mpi, ends the process: such a process is a job of one rank, without MPI. */
bool muster_launched(void);

/* ---- an MPI that muster's installation brings along, in a folder beside the module for it ----
 *
 * <libdir>/muster/mpi/NAME.so is linked with the MPI in <libdir>/muster/mpi/NAME/, which has its programs in bin/. MPI
 * finds its own files by variables: each line of NAME/environment is VARIABLE=VALUE, and a value that begins with ./ is
 * a path below the folder, wherever that is. The portable tree is such an installation (src/packaging/portable.sh).
 */

/* Set the variables for the module called name (or NAME.so) of this directory of modules, for this process and those
 * that it starts. Whatever they were before: they belong to another MPI. Does nothing where there is no such folder. */
int muster_mpi_bundle_enter(const char *directory, const char *name, struct muster_error *err);

/* The folder that holds the mpirun for the modules of this directory: of the module that $MUSTER_MPI names, or else of
 * the first one that brings its MPI along. NULL where none does. The caller frees it. */
char *muster_mpi_bundle_programs(const char *directory);

#endif
