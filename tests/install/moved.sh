#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# moved.sh - the installed tree is found relative to the program, wherever it is moved to
#
# usage: moved.sh CMAKE SOURCE-FOLDER BUILD-FOLDER
set -eu

cmake=$1 source=$2 build=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/install.log" || {
	cat "$scratch/install.log"
	exit 1
}
mv "$scratch/first" "$scratch/another place"
prefix="$scratch/another place"
muster="$prefix/bin/muster"

# Nothing in the program may lead back to where it was built.
if readelf -p .rodata -p .data "$muster" | grep -F "$source/" || readelf -d "$muster" | grep -F "$source"; then
	echo "the program carries the path of the folder it was built from"
	exit 1
fi

cd "$scratch"
"$muster" metrics >metrics.txt
grep -q 'gpu\.h2d_gbps' metrics.txt || {
	echo "muster metrics does not list gpu.h2d_gbps"
	exit 1
}

# Scripts for Slurm can be run, and no link among them leads out of the tree.
for script in preflight.sbatch train-with-preflight.sbatch healthcheck deep-check deep-check.sbatch prolog.d/50-muster epilog.d/50-muster; do
	sh -c 'test -x "$1" && bash -n "$1"' check "$prefix/share/muster/slurm/$script" || {
		echo "share/muster/slurm/$script is missing or cannot be run"
		exit 1
	}
done

# The MPI module is looked for in the moved tree; the simulation below also starts it.
status=0
(unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID && MUSTER_MPI=nobody "$muster" run) >run.txt 2>&1 || status=$?
[ $status -eq 2 ] && grep -qF "there is no $prefix/lib" run.txt && [ "$(wc -l <run.txt)" -eq 1 ] || {
	cat run.txt
	echo "muster run ended with $status, and does not look for MPI below $prefix"
	exit 1
}

# Expectations, hardware description and stand-ins must all be found, and the stand-ins be those of the moved tree.
"$muster" sim --sku Standard_ND96asr_v4 --nodes 1 --report report.json >sim.txt 2>&1 || {
	cat sim.txt
	exit 1
}
tail -n 1 sim.txt | grep -q '^MUSTER PASS ' || {
	cat sim.txt
	echo "the last line is no pass"
	exit 1
}
grep -qF "$prefix/lib" report.json || {
	grep -F library_path report.json | head -n 5
	echo "the report names no library below $prefix"
	exit 1
}
