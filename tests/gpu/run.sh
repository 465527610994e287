#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - muster on a real GPU host: is what it reports true, how fast is it, and what do others measure there
#
# usage: tests/gpu/run.sh [SKU]      from anywhere; needs NVIDIA GPUs, their driver and NCCL; SKU: what the host's GPUs are
#                                    compared with too (default Standard_ND96isr_H200_v5)
#
# Uses the portable tree in build-portable/, or else build/muster and the mpirun in PATH. Writes to $OUT (default
# tests/gpu/out):
#   log.txt           all that is printed here
#   report-1gpu.json  `muster run` alone, on one GPU
#   report-ngpu.json  the last of three runs over all GPUs (only with two or more)
#   nvidia-smi.xml, nvlink.txt  the inventory and the counters that the reports are compared with
#   rings-*.json     runs in which a rank dies in the ring (only with two or more)
#   traffic-*.json   exchanges and collectives beside nccl-tests (only with two or more, and with nccl-tests)
#   healthy-*.json, stranger-*.json  verdicts about speeds, alone and beside another process's work
#   node-*.json      `muster node` over all GPUs, twice
#   reference.jsonl   what other programs measured: NCCL in one process, PyTorch
#   without-*.json, load-*.json  runs without and with load on the GPUs
#   times.txt         wall times in seconds, start to exit
# STORAGE names a folder on the disk that streams are measured from (default /var/tmp).
# Exit status 0: all comparisons hold. 1: one does not, it is marked FAIL.
set -u

here=$(cd "$(dirname "$0")" && pwd)
sku=${1:-Standard_ND96isr_H200_v5}
source=$(cd "$here/../.." && pwd)
out=${OUT:-$here/out}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out"
out=$(cd "$out" && pwd)

# NVLink multicast can put a shared host's GPUs out of service when a program dies in it: it stays off, here and below.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

title() {
	printf '\n== %s\n' "$*"
}

# shellcheck source=tests/gpu/with_muster.sh
. "$here/with_muster.sh"

# timed NAME COMMAND...: append NAME and the wall time to times.txt, keep the exit status.
timed() {
	name=$1
	shift
	began=$(date +%s.%N)
	"$@"
	status=$?
	ended=$(date +%s.%N)
	echo "$name $began $ended" | awk '{ printf "%s %.3f\n", $1, $3 - $2 }' | tee -a "$out/times.txt"
	return $status
}

abi() {
	for library in cuda nvml nccl cufile; do
		header=$(find -L /usr/local/cuda/include /usr/include "$nccl_folder/../include" /opt -name $library.h \
			-not -path '*/linux/*' -not -path '*/hwloc/*' 2>/dev/null | head -n 1)
		toolkit=$(find -L /usr/local/cuda/include /usr/include -name cuda.h -not -path '*/linux/*' \
			-not -path '*/hwloc/*' 2>/dev/null | head -n 1)
		sh "$source/tests/abi/compare.sh" "${CC:-cc}" $library "$scratch/abi-$library" \
			"$(dirname "${header:-/nowhere/x}")" "$(dirname "${toolkit:-/nowhere/x}")" \
			>"$scratch/abi.txt" 2>&1
		case $? in
		0) echo "ok    $library.h: ${header:-}" ;;
		77) echo "none  $library.h is not on this host" ;;
		*)
			cat "$scratch/abi.txt"
			echo "FAIL  our declarations differ from ${header:-$library.h}"
			failed=1
			;;
		esac
	done
}

build_reference() {
	cc -O2 -o "$scratch/reference" "$here/allreduce_reference.c" -I/usr/local/cuda/include \
		-I"$nccl_folder/../include" -I/usr/include "$nccl" -L/usr/local/cuda/lib64 -lcudart -Wl,-rpath,/usr/local/cuda/lib64 \
		-Wl,-rpath,"$nccl_folder"
}

main() {
	failed=0
	rm -f "$out"/*.json "$out/times.txt" "$out/reference.jsonl"
	gpus=$(nvidia-smi -L | grep -c '^GPU')

	title "host"
	uname -srm
	nvidia-smi -L | sed 's/ (UUID.*//'
	nvidia-smi topo -m 2>/dev/null | head -n $((gpus + 1))
	nproc
	echo "NCCL: ${nccl:-none found}"
	ldconfig -p | grep -E 'libibverbs\.so\.1|libcuda\.so\.1|libnvidia-ml\.so\.1'
	echo "RDMA devices: $(ls /sys/class/infiniband 2>/dev/null | wc -l)"
	nvidia-smi -q -x >"$out/nvidia-smi.xml"
	nvidia-smi nvlink -e >"$out/nvlink.txt"

	title "our declarations against this host's headers"
	abi

	title "muster alone, one rank"
	# the others are not used, on purpose
	echo '{"checks": {"launch.ranks_per_gpu": null}}' >"$scratch/overlay.json"
	timed muster-1 with_muster env CUDA_VISIBLE_DEVICES=0 muster run --sku generic-nvidia \
		--overlay "$scratch/overlay.json" --report "$out/report-1gpu.json"
	echo "exit status $?"

	if [ "$gpus" -gt 1 ]; then
		if build_reference; then
			title "NCCL in one process, before"
			"$scratch/reference" "$gpus" | tee -a "$out/reference.jsonl"
		fi
		for turn in 1 2 3; do
			timed mpirun with_muster mpirun --bind-to none -np "$gpus" true
			title "muster on $gpus GPUs, turn $turn"
			timed "muster-$gpus" with_muster mpirun --bind-to none -np "$gpus" muster run --sku generic-nvidia \
				--profile standard --report "$out/report-ngpu.json"
			echo "exit status $?"
		done
		if [ -x "$scratch/reference" ]; then
			title "NCCL in one process, after"
			"$scratch/reference" "$gpus" | tee -a "$out/reference.jsonl"
		fi
		title "rings: trials, and ranks that die or stop"
		with_muster python3 "$here/rings.py" "$gpus" "$out" || failed=1
		for tests in $(command -v all_reduce_perf) \
			$(find /opt /usr/local -name all_reduce_perf 2>/dev/null | head -n 1); do
			title "nccl-tests"
			"$tests" -b 8M -e 512M -f 2 -g "$gpus"
			title "traffic between two GPUs, beside nccl-tests"
			CUDA_VISIBLE_DEVICES=0,1 with_muster python3 "$here/traffic.py" "$(dirname "$tests")" "$out" || failed=1
			break
		done
	fi

	title "load: the kernels' meaning, a flipped bit, and the rates beside CUDA's own means"
	for name in gpu_load_faults gpu_memory_reads; do
		for program in "$source/build-portable/$name" "$source/build/tests/$name"; do
			if [ -x "$program" ]; then
				"$program" || failed=1
				break
			fi
		done
	done
	if nvcc -O3 -arch=native -o "$scratch/load" "$here/load_reference.cu" -lcublas 2>"$scratch/nvcc.txt"; then
		"$scratch/load" | tee -a "$out/reference.jsonl"
		for turn in 1 2 3; do
			timed muster-without-load with_muster mpirun --bind-to none -np "$gpus" muster run --sku generic-nvidia \
				--profile quick --min-bytes 8M --max-bytes 512M --report "$out/without-$turn.json"
			timed muster-with-load with_muster mpirun --bind-to none -np "$gpus" muster run --sku generic-nvidia \
				--profile standard --min-bytes 8M --max-bytes 512M --report "$out/load-$turn.json"
		done
		"$scratch/load" | tee -a "$out/reference.jsonl"
		python3 "$here/load.py" "$out" || failed=1
	fi

	if command -v nvcc >/dev/null; then
		title "data that streams to the GPU, beside a bare loop"
		with_muster python3 "$here/stream.py" "${STORAGE:-/var/tmp}" || failed=1
	fi

	if python3 -c 'import torch' 2>/dev/null; then
		title "verdicts: healthy, and beside another process's work"
		with_muster python3 "$here/verdicts.py" "$gpus" "$out" generic-nvidia "$sku" || failed=1
	fi

	title "other programs on the GPUs: none, and each kind"
	with_muster python3 "$here/strangers.py" "$gpus" "$scratch" 2 4 || failed=1

	if [ "$gpus" -gt 1 ]; then
		title "training steps: copies both ways, healthy runs, and ranks that are slow"
		# NVBANDWIDTH is the folder in which nvbandwidth was built; without it nothing is compared with it.
		with_muster python3 "$here/steps.py" "$gpus" "$scratch" 3 3 ${NVBANDWIDTH:+"$NVBANDWIDTH"} || failed=1
	fi

	title "the whole node without a launcher, twice, and what differs"
	for turn in before after; do
		timed muster-node with_muster muster node --sku generic-nvidia --profile standard --repeat 3 \
			--report "$out/node-$turn.json" | tail -n 1
	done
	with_muster muster diff "$out/node-before.json" "$out/node-after.json" || failed=1

	if python3 -c 'import torch' 2>/dev/null; then
		title "PyTorch"
		python3 -m torch.distributed.run --standalone --nproc_per_node "$gpus" "$here/torch_reference.py" \
			2>"$scratch/torch.txt" | tee -a "$out/reference.jsonl"
		for turn in 1 2; do
			timed ddp-smoke python3 -m torch.distributed.run --standalone --nproc_per_node "$gpus" \
				"$here/ddp_smoke.py" 2>>"$scratch/torch.txt"
		done
		tail -n 3 "$scratch/torch.txt"
	fi

	title "inventory against nvidia-smi"
	for report in "$out"/report-*.json; do
		python3 "$here/inventory.py" "$report" "$out/nvidia-smi.xml" "$out/nvlink.txt" || failed=1
	done

	title "figures"
	python3 "$here/figures.py" "$out" || failed=1
	echo $failed >"$scratch/failed"
}

main 2>&1 | tee "$out/log.txt"
exit "$(cat "$scratch/failed" 2>/dev/null || echo 1)"
