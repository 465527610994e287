#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inventory.sh - what muster reads of the GPUs of this host beside what nvidia-smi says, in one call of some seconds
#
# usage: tests/gpu/inventory.sh      needs NVIDIA GPUs, their driver, python3, and muster (with_muster.sh says which one)
#
# Reads only: no setting is changed. Writes report.json and nvidia-smi.xml to $OUT (default tests/gpu/out). Exit status 0:
# all facts are equal.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034
source=$(cd "$here/../.." && pwd)
out=${OUT:-$here/out}
mkdir -p "$out"

# shellcheck source=tests/gpu/with_muster.sh
. "$here/with_muster.sh"

with_muster muster node --sku generic-nvidia --profile quick --report "$out/report.json" | tail -n 1
nvidia-smi -q -x >"$out/nvidia-smi.xml"
python3 -B "$here/inventory.py" "$out/report.json" "$out/nvidia-smi.xml" --show
