#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# journal.sh - our declarations of libsystemd's functions against its own header
#
# usage: journal.sh COMPILER SCRATCH
set -eu

compiler=$1 scratch=$2
source=$(cd "$(dirname "$0")/../../src" && pwd)

if ! echo '#include <systemd/sd-journal.h>' | "$compiler" -E - >/dev/null 2>&1; then
	echo "skipped: no systemd/sd-journal.h here; it comes with Debian's and Ubuntu's package libsystemd-dev"
	exit 77
fi
mkdir -p "$scratch"
cat >"$scratch/journal.c" <<'END'
#include <systemd/sd-journal.h>
#define MUSTER_ABI_VENDOR_TYPES
#include "system/journal_abi.h"
#define X(result, symbol, parameters)                                                                                  \
	_Static_assert(__builtin_types_compatible_p(__typeof__(symbol), result parameters), #symbol);
MUSTER_JOURNAL_FUNCTIONS(X)
END
cat >"$scratch/types.c" <<'END'
#include "system/journal_abi.h"
_Static_assert(sizeof(sd_id128_t) == VENDOR_SIZE, "sd_id128_t");
END
size=$(echo '#include <systemd/sd-id128.h>
char size[sizeof(sd_id128_t)];' | "$compiler" -x c -c -o "$scratch/size.o" - && nm -S "$scratch/size.o" | awk '/ size$/ { print $2 }')
"$compiler" -std=gnu17 -I"$source" -fsyntax-only "$scratch/journal.c"
"$compiler" -std=gnu17 -I"$source" -DVENDOR_SIZE="0x$size" -fsyntax-only "$scratch/types.c"
echo "src/system/journal_abi.h is as in systemd/sd-journal.h"
