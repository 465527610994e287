#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh - src/setup.sh as a user who may not install anything: what stops it, what it goes on without, what it builds
#
# usage: setup.sh SOURCE-FOLDER
#
# The tools that it calls are scripts here: dpkg-query says that all but $ABSENT is installed, cmake and ctest write down
# how they were called.
set -eu

source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tools" "$scratch/tree/src" "$scratch/tree/build"
cp "$source/src/setup.sh" "$scratch/tree/src/"
for tool in sh env sed mkdir date cat rm grep tail head nproc dirname tr sleep; do
	ln -s "$(command -v $tool)" "$scratch/tools/$tool"
done
tool() {
	{ echo "#!/bin/sh" && cat; } >"$scratch/tools/$1"
	chmod 755 "$scratch/tools/$1"
}
tool id <<-'END'
	echo 1000
END
tool dpkg-query <<-'END'
	for package; do :; done
	echo "$package" >>"$CALLS.packages"
	case " $ABSENT " in *" $package "*) exit 1 ;; esac
	echo installed
END
tool cmake <<-'END'
	echo "cmake $*" >>"$CALLS"
END
tool ctest <<-'END'
	echo "ctest $*" >>"$CALLS"
	case "$*" in *" -N "*) printf '  Test #12: unit.eval.advice\n  Test  #9: unit.eval.known_causes\n\nTotal Tests: 2\n' ;; esac
END
tool mpirun </dev/null
printf '#!/bin/sh\necho "muster $*"\n' >"$scratch/tree/build/muster"
chmod 755 "$scratch/tree/build/muster"

# setup CODE ABSENT ARGUMENTS...
setup() {
	wanted=$1 code=0
	rm -f "$scratch/calls" "$scratch/calls.packages"
	export PATH="$scratch/tools" CALLS="$scratch/calls" ABSENT="$2"
	shift 2
	sh "$scratch/tree/src/setup.sh" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
	touch "$scratch/calls"
	what="setup.sh $* without \"$ABSENT\""
	[ "$code" -eq "$wanted" ] || fail "exit code $code, not $wanted"
}
touch() {
	: >>"$1"
}
fail() {
	echo "$what: $*"
	cat "$scratch/out" "$scratch/err" "$scratch/calls"
	exit 1
}
has() {
	grep -qxF -e "$2" "$scratch/$1" || fail "no line \"$2\""
}

setup 2 "libhwloc-dev liburing-dev" run
has err "setup.sh: these packages are missing, and only root can install them: libhwloc-dev"
has err "  sudo apt-get install -y libhwloc-dev liburing-dev"
[ ! -s "$scratch/calls" ] || fail "something was built"

setup 0 "liburing-dev libcurl4-openssl-dev" run
has out "  sudo apt-get install -y libcurl4-openssl-dev liburing-dev"
has out "   liburing-dev          disks are measured with threads"
has out "muster sim --sku Standard_ND96asr_v4 --nodes 2"
has calls "cmake --build build -j $(nproc) --target muster"

rm "$scratch/tools/mpirun"
setup 0 "openmpi-bin" run
has out "muster sim --sku Standard_ND96asr_v4 --alone"

setup 2 "chromium" test-some '^cli'
has err "  sudo apt-get install -y chromium"
setup 2 "liburing-dev" test
has err "  sudo apt-get install -y liburing-dev"

# No test has run, so the last line is no success; what was asked for and built is what counts.
setup 1 "chromium liburing-dev" test-some '^unit\.eval'
has calls "cmake --build build -j $(nproc) --target test_eval_advice test_eval_known_causes"
has calls.packages check
! grep -qx chromium "$scratch/calls.packages" || fail "a unit test asks for chromium"
