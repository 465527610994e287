#!/bin/sh
# setup.sh - from a fresh machine to the demo, or to the tests
#
# usage: sh src/setup.sh run               install what is missing, build into build/, show two simulated nodes
#        sh src/setup.sh test              the same with every test
#        sh src/setup.sh test-sanitized    builds with clang, and with sanitizers; the tests that make most of those and of valgrind
#        sh src/setup.sh test-some REGEX   the tests with such names, built with gcc
#
# For Debian 12 and 13, as root or with sudo, without either when nothing is missing. Ubuntu 22.04 and 24.04 have packages
# of the same names; not tried. Elsewhere nothing is installed.
set -eu

cd "$(dirname "$0")/.."

# Names that all three distributions have.
packages="gcc libc6-dev cmake ninja-build pkg-config openmpi-bin libopenmpi-dev libhwloc-dev libcjson-dev \
libibverbs-dev libcurl4-openssl-dev libexpat1-dev libsqlite3-dev liburing-dev"
test_packages="check binutils clang clang-format clang-tidy shellcheck python3 python3-jsonschema python3-junitparser \
python3-yaml zsh munge slurmctld slurmd slurm-client libslurm-dev iproute2 curl valgrind libsystemd-dev \
systemd-journal-remote jq chromium chromium-driver python3-selenium python3-html5lib python3-pil fonts-dejavu-core sqlite3 \
prometheus prometheus-node-exporter libfuse3-dev"

vendor=build/vendor # headers for the ABI tests that are not installed but only unpacked
checked='^scenarios\.valgrind$' # run with the sanitizers instead of with all tests
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

install_missing() {
	check_system
	if ! command -v dpkg-query >/dev/null; then
		say "no dpkg here: assuming that these packages or equivalent ones are installed: $*"
		return 0
	fi
	missing=
	for package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
			missing="$missing $package"
	done
	[ -n "$missing" ] || return 0

	if [ "$(id -u)" -eq 0 ]; then
		as_root=
	elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		as_root=sudo
	else
		echo "setup.sh: these packages are missing, and only root can install them:$missing" >&2
		exit 2
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
		install_missing nodejs npm
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

# build FOLDER TARGET WHAT CMAKE-OPTIONS...
build() {
	folder=$1 target=$2 what=$3 began=$(date +%s) status=0
	say "building $what in $folder/"
	shift 3
	[ -e "$folder/CMakeCache.txt" ] || ! command -v ninja >/dev/null || set -- -G Ninja "$@"
	quietly "$folder/configure.log" cmake -S . -B "$folder" "$@" &&
		quietly "$folder/build.log" cmake --build "$folder" --target "$target" -j "$(nproc)" || status=1
	took "$began" "building $what"
	return "$status"
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
	# shellcheck disable=SC2086
	install_missing $packages
	[ -e build/CMakeCache.txt ] || set -- -DMUSTER_TESTS=OFF # which need more packages
	build build muster muster "$@"
	say "build/muster sim --sku Standard_ND96asr_v4 --nodes 2"
	exec build/muster sim --sku Standard_ND96asr_v4 --nodes 2
}

# begin: what every kind of test needs
begin() {
	at_once=$(($(nproc) + 2)) # of the tests that start other programs: they wait, too
	mkdir -p build
	rm -f "$times"
	began=$(date +%s)
	# shellcheck disable=SC2086
	install_missing $packages $test_packages
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
	begin
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

run_some_tests() {
	begin
	if build build all "with gcc, warnings are errors" -DMUSTER_WERROR=ON -DMUSTER_TESTS=ON -DCMAKE_C_COMPILER=gcc; then
		run_tests build "tests of these names: $1" -R "$1" -j "$at_once"
	else
		failed=$((failed + 1))
	fi
	closing
}

# With another compiler, and with sanitizers: the unit tests, workers that die, and the search for leaks.
run_other_builds() {
	begin
	build build-clang all "with clang, warnings are errors" -DMUSTER_WERROR=ON -DMUSTER_TESTS=ON \
		-DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug || failed=$((failed + 1))
	# valgrind of Debian 12 does not read what clang writes for debuggers
	if build build all "with gcc, warnings are errors" -DMUSTER_WERROR=ON -DMUSTER_TESTS=ON -DCMAKE_C_COMPILER=gcc; then
		run_tests build "runs under valgrind" -R "$checked"
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
