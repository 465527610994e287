/* bundle.h - an MPI that muster's installation brings along, in a folder beside the module for it
 *
 * <libdir>/muster/mpi/NAME.so is linked with the MPI in <libdir>/muster/mpi/NAME/, which has its programs in bin/. MPI
 * finds its own files by variables: each line of NAME/environment is VARIABLE=VALUE, and a value that begins with ./ is
 * a path below the folder, wherever that is. The portable tree is such an installation (src/packaging/portable.sh).
 */
#ifndef MUSTER_TRANSPORT_BUNDLE_H
#define MUSTER_TRANSPORT_BUNDLE_H

#include "muster/error.h"

/* Set the variables for the module called name (or NAME.so) of this directory of modules, for this process and those
 * that it starts. Whatever they were before: they belong to another MPI. Does nothing where there is no such folder. */
int muster_mpi_bundle_enter(const char *directory, const char *name, struct muster_error *err);

/* The folder that holds the mpirun for the modules of this directory: of the module that $MUSTER_MPI names, or else of
 * the first one that brings its MPI along. NULL where none does. The caller frees it. */
char *muster_mpi_bundle_programs(const char *directory);

#endif
