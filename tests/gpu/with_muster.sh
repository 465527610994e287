# SPDX-License-Identifier: Apache-2.0
# with_muster.sh - for the scripts of this folder, which read it: where muster and NCCL are; $source is the tree's root
# shellcheck shell=sh
# shellcheck disable=SC2154

# The first libnccl.so.2: Python's package, the toolkit, the system.
find_nccl() {
	python3 -c 'import sys; print("\n".join(sys.path))' 2>/dev/null | while read -r folder; do
		[ ! -e "$folder/nvidia/nccl/lib/libnccl.so.2" ] || echo "$folder/nvidia/nccl/lib/libnccl.so.2"
	done
	ls /usr/local/cuda*/lib64/libnccl.so.2 2>/dev/null
	ldconfig -p 2>/dev/null | sed -n 's/.*libnccl\.so\.2 .*=> //p'
}
nccl=$(find_nccl | head -n 1)
nccl_folder=$(dirname "${nccl:-/nowhere/x}")

# Run a command where muster, mpirun and the libraries are found; only there, so that other programs keep their own. The
# muster is that of MUSTER_TREE, a portable tree, or else that in build-portable/ or build/.
with_muster() {
	(
		PATH=$source/build:$PATH
		for tree in "$source"/build-portable/muster-*/bin ${MUSTER_TREE:+"$MUSTER_TREE/bin"}; do
			[ ! -x "$tree/muster" ] || PATH=$tree:$tree/../lib/muster/mpi/openmpi/bin:$PATH
		done
		export PATH LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$nccl_folder"
		"$@"
	)
}
