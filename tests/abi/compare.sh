#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh - our declarations of a vendor's library against the vendor's own header
#
# usage: compare.sh COMPILER cuda|cublaslt|cufile|nccl|nvml|pmix SCRATCH [FOLDER-OF-HEADER [FOLDER-OF-cuda.h]]
#
# One program is compiled twice, once with our types and once with the vendor's. It prints every constant, size and
# offset that our header declares, and whether each prototype is the vendor's. Any difference between the two outputs
# is an error. The list of what to print is taken from our header itself, so nothing in it can be forgotten here. What
# our header marks as not in every vendor's ("since", "until"), and its list of optional functions, is compared where the
# vendor's header has it; the rest of it is listed.
#
# In a build for another processor, CFLAGS tells the compiler where that one's headers are, and MUSTER_SIM_WRAPPER runs
# the program.
set -eu

compiler=$1 library=$2 scratch=$3 vendor=${4:-} cuda=${5:-}
here=$(cd "$(dirname "$0")" && pwd)
source=$here/../../src
ours=$(find "$source" -name "${library}_abi.h")

case $library in
cuda | cublaslt | cufile) from="the CUDA Toolkit" ;;
nccl) from="the CUDA Toolkit, or NVIDIA's package libnccl-dev" ;;
nvml) from="the CUDA Toolkit, or Debian's and Ubuntu's package libnvidia-ml-dev" ;;
pmix) from="Debian's and Ubuntu's package libpmix-dev" ;;
*)
	echo "unknown library $library"
	exit 1
	;;
esac
header=$library.h
[ "$library" != cublaslt ] || header=cublasLt.h
needs_cuda=no
case $library in nccl | cufile) needs_cuda=yes ;; esac
for folder in "$vendor" $([ $needs_cuda = no ] || echo "${cuda:-missing}"); do
	if [ ! -d "$folder" ]; then
		[ "$folder" != missing ] || library=cuda from="the CUDA Toolkit ($header includes it)"
		echo "skipped: no $header here; it comes with $from; -DMUSTER_VENDOR_INCLUDE=FOLDER names another" \
			"place"
		exit 77
	fi
done

mkdir -p "$scratch"
plain=$(sed -E 's,/\*.*\*/,,' "$ours")

# FACT(expression) for each enumerator, each constant, the size of each type, each field's size and offset.
{
	printf '%s\n' "$plain" | grep -oE '[A-Za-z_][A-Za-z0-9_]* = -?[0-9]' | sed -E 's/ = .*/)/; s/^/FACT(/'
	printf '%s\n' "$plain" | sed -nE '/MUSTER_/!s/^#define ([A-Za-z0-9_]+) .*/FACT(\1)/p'
	printf '%s\n' "$plain" | sed -nE '/ncclConfig_t|GpuFabricInfoV_t;/!s/^(typedef|\}).*[ *]([A-Za-z0-9_]+);.*/FACT(sizeof(\2))/p'
	printf '%s\n' "$plain" | awk '
		/^typedef (struct|union).*\{$/ { inside = 1; count = 0; next }
		inside && /^\t(struct|union) \{$/ { nested = count; next } # of no type name: its fields, then itself
		inside && /^\t\} / {
			gsub(/[};[:space:]]/, "")
			for (i = nested; i < count; i++)
				field[i] = $0 "." field[i]
			field[count++] = $0
			next
		}
		inside && /^\}/ {
			gsub(/[};[:space:]]/, "")
			for (i = 0; i < count; i++)
				printf "FACT(offsetof(%s, %s))\nFACT(sizeof((*(%s *)0).%s))\n",
					$0, field[i], $0, field[i]
			inside = 0
		}
		inside {
			gsub(/\[[0-9]*\]|;.*/, "")
			n = split($0, part, ",")
			for (i = 1; i <= n; i++) {
				words = split(part[i], word, /[[:space:]*]+/)
				field[count++] = word[words]
			}
		}'
	printf '%s\n' "$plain" | sed -nE '/_OPTIONAL_FUNCTIONS\(X\)/,/^$/s/^\tX\((.*)\)( \\)?$/PROTOTYPE(\1)/p'
} >"$scratch/all.h"

# Names that the vendor's header may lack, and does; facts about them are left out.
{
	sed -nE '/\/\* (since|until) /{
		s,/\*.*,,
		s/^#define ([A-Za-z0-9_]+).*/\1/
		s/.*[ *]([A-Za-z0-9_]+);.*/\1/
		s/^\t([A-Za-z0-9_]+) = .*/\1/
		p
	}' "$ours"
	sed -nE 's/^PROTOTYPE\(([A-Za-z0-9_]+),.*/\1/p' "$scratch/all.h"
} | while read -r name; do
	grep -qsw "$name" "$vendor/$header" "$vendor/library_types.h" || echo "$name"
done >"$scratch/lacking.txt"
grep -vwFf "$scratch/lacking.txt" "$scratch/all.h" >"$scratch/facts.h"

for side in ours vendor; do
	set -- -std=gnu17 -w -I"$scratch" -I"$source" -I"$source/../include" -DABI_"$library" -DABI_"$side"
	[ "$side" = ours ] || set -- "$@" -isystem "$vendor" ${cuda:+-isystem "$cuda"}
	# lists of words
	# shellcheck disable=SC2086
	"$compiler" ${CFLAGS:-} "$@" -o "$scratch/$side" "$here/facts.c"
	# shellcheck disable=SC2086
	${MUSTER_SIM_WRAPPER:-} "$scratch/$side" >"$scratch/$side.txt"
done
facts=$(wc -l <"$scratch/ours.txt")
if ! diff -U0 "$scratch/ours.txt" "$scratch/vendor.txt"; then
	echo "src/${ours#"$source"/} (-) is not what $vendor/$header (+) says"
	exit 1
fi
if [ "$facts" -lt 20 ]; then
	echo "only $facts facts were found in src/${ours#"$source"/}: this test cannot judge it"
	exit 1
fi
if [ -s "$scratch/lacking.txt" ]; then
	echo "$vendor/$header is of another time and lacks, so that nothing here has compared them:"
	sed 's/^/  /' "$scratch/lacking.txt"
fi
echo "$facts facts of src/${ours#"$source"/} are as in $vendor/$header"
