#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh - from a fresh machine to the demo, or to the tests
#
# usage: sh src/setup.sh run               install what is missing, build into build/, show two simulated nodes
#        sh src/setup.sh test              the same with every test
#        sh src/setup.sh test-sanitized    builds with clang, and with sanitizers; the tests that make most of those, clang-tidy
#                                          and valgrind
#        sh src/setup.sh test-some REGEX   the tests with such names, built with gcc; for REGEX ^unit... no more than unit
#                                          tests need is installed and built
#
# For Debian 12 and 13. Packages are installed as root or with sudo; for others the command that installs them is printed,
# and `run` and unit tests go on where only optional ones are missing. Ubuntu 22.04 and 24.04 have packages of the same
# names; not tried. Elsewhere nothing is installed.
set -eu

cd "$(dirname "$0")/.."

# Names that all three distributions have.
packages="gcc libc6-dev cmake ninja-build pkg-config libhwloc-dev libcjson-dev libibverbs-dev"
optional="openmpi-bin libopenmpi-dev libcurl4-openssl-dev libexpat1-dev libsqlite3-dev liburing-dev zlib1g-dev"
test_packages="check binutils clang clang-format clang-tidy shellcheck python3 python3-jsonschema python3-junitparser \
python3-yaml zsh munge slurmctld slurmd slurm-client libslurm-dev iproute2 curl valgrind libsystemd-dev \
systemd-journal-remote jq chromium chromium-driver python3-selenium python3-html5lib python3-pil fonts-dejavu-core sqlite3 \
prometheus prometheus-node-exporter libfuse3-dev"

vendor=build/vendor # headers for the ABI tests that are not installed but only unpacked
checked='^(scenarios\.valgrind|style\.tidy)$' # run with the sanitizers instead of with all tests
times=build/times   # of each part of the work, one line each
passed=0 failed=0 skipped=0

say() {
	printf '== %s\n' "$*"
}

# What the command prints goes to a file, and is shown only when it fails.
quietly() {
	log=$1
	shift
	mkdir -p "$(dirname "$log")"
	if ! "$@" </dev/null >"$log" 2>&1; then
		grep -vE '^\[ *[0-9]+(/[0-9]+|%)\] [A-Z]' "$log" # without the compiler's progress
		return 1
	fi
}

# took SINCE WORDS...: the seconds from then, by date +%s, until now, for the table at the end
took() {
	mkdir -p "${times%/*}"
	printf '%6d s  %s\n' "$(($(date +%s) - $1))" "$(shift && echo "$*")" >>"$times"
}

# Before anything is installed: is this a system whose packages are recent enough?
check_system() {
	[ -e /etc/os-release ] || return 0
	# shellcheck source=/dev/null
	system=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}")
	case $system in
	"debian 12" | "debian 13") ;;
	"debian "[0-9] | "debian 10" | "debian 11" | "ubuntu 1"* | "ubuntu 20."*)
		echo "setup.sh: $system has no CMake 3.22 and no hwloc 2.5: muster can be built on Debian 12 and 13, or with these" \
			"two and MPI installed by hand (cmake -S . -B build)" >&2
		exit 2
		;;
	debian* | ubuntu*) say "$system: not tried; Debian 12 and 13 are" ;;
	esac
}

# What is lost without an optional package.
without() {
	case $1 in
	openmpi-bin) echo "muster run and simulations of several nodes need mpirun" ;;
	libopenmpi-dev) echo "muster run is not built" ;;
	libcurl4-openssl-dev) echo "the metadata of the cloud are not read" ;;
	libexpat1-dev) echo "topology files of NCCL are not read" ;;
	libsqlite3-dev) echo "muster history is not built" ;;
	liburing-dev) echo "disks are measured with threads" ;;
	zlib1g-dev) echo "reports are not compressed, and .gz files not read" ;;
	esac
}

# missing_of PACKAGES...: those of them that are not installed
missing_of() {
	for package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf ' %s' "$package"
	done
}

# install_missing NEEDED [OPTIONAL]: lists of packages. Who may not install anything gets the command to paste, and goes on
# without optional ones.
install_missing() {
	check_system
	if ! command -v dpkg-query >/dev/null; then
		say "no dpkg here: assuming that these packages or equivalent ones are installed: $*"
		return 0
	fi
	# These are lists of words.
	# shellcheck disable=SC2086
	needed=$(missing_of $1) extra=$(missing_of ${2:-})
	missing=$needed$extra
	[ -n "$missing" ] || return 0

	if [ "$(id -u)" -eq 0 ]; then
		as_root=
	elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		as_root=sudo
	elif [ -n "$needed" ]; then
		echo "setup.sh: these packages are missing, and only root can install them:$needed" >&2
		printf '\n  sudo apt-get install -y%s\n\n' "$missing" >&2
		exit 2
	else
		say "going on without optional packages, which only root can install:"
		for package in $extra; do
			printf '   %-21s %s\n' "$package" "$(without "$package")"
		done
		printf '\n  sudo apt-get install -y%s\n\n' "$extra"
		return 0
	fi
	say "installing$missing"
	# $as_root and $missing are lists of words.
	# shellcheck disable=SC2086
	{
		quietly build/apt.log $as_root apt-get -q update || return 1
		quietly build/apt.log $as_root env DEBIAN_FRONTEND=noninteractive \
			apt-get -qy --no-install-recommends install $missing
	}
}

# unpack_header HEADER PACKAGE: for the ABI test, where a configured package source has it. The package would bring a
# vendor's library along, so it is unpacked and not installed.
unpack_header() {
	for header in "/usr/include/$1" /usr/local/cuda*/include/"$1" "$vendor/usr/include/$1"; do
		[ ! -e "$header" ] || return 0
	done
	mkdir -p "$vendor"
	if (cd "$vendor" && apt-get -q download "$2" && dpkg -x "$2"_*.deb .) </dev/null >"$vendor/log" 2>&1; then
		say "unpacked $1 into $vendor"
	fi
}

# What the tests of the HTML page need of npm's packages, in the versions of the lock file: into build/npm, for the tests
# alone. Without them these tests are skipped.
install_npm_packages() {
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		install_missing "nodejs npm"
	fi
	mkdir -p build/npm
	cp tests/browser/package.json tests/browser/package-lock.json build/npm/
	if cmp -s build/npm/package-lock.json build/npm/node_modules/installed; then
		return 0
	fi
	say "installing npm packages for the tests into build/npm"
	if quietly build/npm.log npm ci --prefix build/npm --ignore-scripts --no-audit --no-fund --fetch-retries 1; then
		cp build/npm/package-lock.json build/npm/node_modules/installed
	else
		say "npm packages cannot be had: tests that need them are skipped"
	fi
}


# show_steps WHAT LOG: one line that moves, with how far ninja is: "[12/462]". Ends with this script, whatever ends it.
show_steps() {
	trap 'exit 0' TERM
	while printf '\r== %s %s' "$1" "$(sed -nE 's/^(\[[0-9]+\/[0-9]+\]) .*/\1/p' "$2" 2>/dev/null | tail -n 1)"; do
		sleep 1
		kill -0 $$ 2>/dev/null || break
	done
}

# configure FOLDER CMAKE-OPTIONS...
configure() {
	folder=$1
	shift
	[ -e "$folder/CMakeCache.txt" ] || ! command -v ninja >/dev/null || set -- -G Ninja "$@"
	quietly "$folder/configure.log" cmake -S . -B "$folder" "$@"
}

# compile FOLDER TARGETS WHAT
compile() {
	folder=$1 targets=$2 what="building $3 in $1/" began=$(date +%s) status=0 watcher=
	if [ -t 1 ]; then
		rm -f "$folder/build.log"
		show_steps "$what" "$folder/build.log" &
		watcher=$!
	else
		say "$what"
	fi
	# $targets is a list of words.
	# shellcheck disable=SC2086
	quietly "$folder/build.log" cmake --build "$folder" -j "$(nproc)" --target $targets || status=1
	if [ -n "$watcher" ]; then
		kill "$watcher"
		wait "$watcher" && echo
	fi
	took "$began" "$what"
	return "$status"
}

# build FOLDER TARGETS WHAT CMAKE-OPTIONS...
build() {
	to=$1 targets=$2 what=$3
	shift 3
	configure "$to" "$@" && compile "$to" "$targets" "$what"
}

# attribute NAME FILE: of the test suite as a whole
attribute() {
	sed -nE "s/.*[[:space:]]$1=\"([0-9]+)\".*/\1/p" "$2" | head -n 1
}

# run_tests FOLDER WHAT CTEST-OPTIONS...
run_tests() {
	folder=$1 what=$2 result=$PWD/$1/results.xml status=0 began=$(date +%s)
	say "running $what in $folder/"
	shift 2
	rm -f "$result"
	ctest --test-dir "$folder" --no-tests=error --output-on-failure --output-junit "$result" "$@" </dev/null ||
		status=1
	all=0 bad=0 left=0
	if [ -e "$result" ]; then
		# To the file, a test that could not be started was skipped; to us it failed.
		all=$(attribute tests "$result")
		left=$(grep -c '<skipped message="SKIP_' "$result" || true)
		bad=$(($(attribute failures "$result") + $(attribute skipped "$result") - left))
	fi
	[ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1 all=$((all + 1))
	passed=$((passed + all - bad - left)) failed=$((failed + bad)) skipped=$((skipped + left))
	took "$began" "$what in $folder/: $((all - bad - left)) passed, $bad failed, $left skipped"
}

run() {
	install_missing "$packages" "$optional"
	[ -e build/CMakeCache.txt ] || set -- -DMUSTER_TESTS=OFF # which need more packages
	build build muster muster "$@"
	set -- --nodes 2
	command -v mpirun >/dev/null || set -- --alone
	say "build/muster sim --sku Standard_ND96asr_v4 $*"
	exec build/muster sim --sku Standard_ND96asr_v4 "$@"
}

# begin NEEDED [OPTIONAL]: what every kind of test needs
begin() {
	at_once=$(($(nproc) + 2)) # of the tests that start other programs: they wait, too
	mkdir -p build
	rm -f "$times"
	began=$(date +%s)
	install_missing "$@"
	took "$began" "packages"
}

# closing: where the time went, and the sum of all tests
closing() {
	say "where the time went"
	cat "$times"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

run_all_tests() {
	begin "$packages $optional $test_packages"
	unpack_header nvml.h libnvidia-ml-dev
	unpack_header cufile.h libcufile-dev
	install_npm_packages
	if build build all "with gcc, warnings are errors" -DMUSTER_WERROR=ON -DMUSTER_TESTS=ON -DCMAKE_C_COMPILER=gcc \
		-DMUSTER_VENDOR_INCLUDE="$PWD/$vendor/usr/include"; then
		run_tests build "the unit tests" -L unit -j "$(nproc)"
		run_tests build "all other tests" -LE unit -E "$checked" -j "$at_once"
	else
		failed=$((failed + 1))
	fi
	closing
}

# programs_of REGEX: of the unit tests with such names
programs_of() {
	ctest --test-dir build -N -R "$1" | sed -nE 's/^ *Test +#[0-9]+: unit\./test_/p' | tr . _
}

run_some_tests() {
	targets=all
	case $1 in
	'^unit'*) begin "$packages check" "$optional" ;;
	*) begin "$packages $optional $test_packages" ;;
	esac
	configure build -DMUSTER_WERROR=ON -DMUSTER_TESTS=ON -DCMAKE_C_COMPILER=gcc
	case $1 in
	'^unit'*) targets=$(programs_of "$1") ;;
	esac
	if [ -z "$targets" ]; then
		echo "setup.sh: no unit test has a name like $1" >&2
		exit 2
	fi
	if compile build "$targets" "with gcc, warnings are errors"; then
		run_tests build "tests of these names: $1" -R "$1" -j "$at_once"
	else
		failed=$((failed + 1))
	fi
	closing
}

# With another compiler, and with sanitizers: the unit tests, workers that die, and the search for leaks.
run_other_builds() {
	begin "$packages $optional $test_packages"
	build build-clang all "with clang, warnings are errors" -DMUSTER_WERROR=ON -DMUSTER_TESTS=ON \
		-DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug || failed=$((failed + 1))
	# valgrind of Debian 12 does not read what clang writes for debuggers
	if build build all "with gcc, warnings are errors" -DMUSTER_WERROR=ON -DMUSTER_TESTS=ON -DCMAKE_C_COMPILER=gcc; then
		run_tests build "clang-tidy, and runs under valgrind" -R "$checked" -j "$at_once"
	else
		failed=$((failed + 1))
	fi
	if build build-asan all "with gcc, AddressSanitizer and UndefinedBehaviorSanitizer" -DMUSTER_WERROR=ON \
		-DMUSTER_SANITIZE=ON -DMUSTER_TESTS=ON -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug; then
		# to find the thread-local memory of opened libraries, AddressSanitizer guesses what glibc wrote before it;
		# a wrong guess ends the search for leaks with a signal
		export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}intercept_tls_get_addr=0"
		run_tests build-asan "the unit tests" -L unit -j "$(nproc)"
		run_tests build-asan "runs with workers that die, and the search for leaks" -j "$at_once" \
			-R '^scenarios\.(leaks|workers\.(crash_in_each_probe|lies_on_the_pipe|no_driver))$'
	else
		failed=$((failed + 1))
	fi
	closing
}

case $#:${1:-} in
1:run) run ;;
1:test) run_all_tests ;;
1:test-sanitized) run_other_builds ;;
2:test-some) run_some_tests "$2" ;;
*)
	echo "usage: sh src/setup.sh run|test|test-sanitized|test-some REGEX" >&2
	exit 2
	;;
esac
