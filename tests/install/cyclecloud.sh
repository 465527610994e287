#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cyclecloud.sh - the CycleCloud project's scripts, with a jetpack, an apt-get and a Slurm that only note what they are told
#
# usage: cyclecloud.sh SOURCE-FOLDER     (packages.sh runs the script for nodes with a real package)
set -eu

project=$1/slurm/cyclecloud source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/slurm" "$scratch/shared"

fail() {
	echo "$*"
	exit 1
}

put() {
	printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
	chmod 755 "$scratch/bin/$1"
}
# jetpack config NAME DEFAULT: what the file of that name says
# shellcheck disable=SC2016
put jetpack 'case $1 in
config) cat "$CONFIG/$2" 2>/dev/null || echo "$3" ;;
*) exit 1 ;;
esac'
put scontrol 'echo "$@" >>"$CONFIG/scontrol"'
put apt-get 'exit 1'
export CONFIG="$scratch" PATH="$scratch/bin:$PATH" MUSTER_SLURM_DIRECTORY="$scratch/slurm"
scheduler() {
	bash "$project/specs/scheduler/cluster-init/scripts/10-muster.sh" 2>"$scratch/err"
}

# As azslurm has it: links to a folder that all nodes share.
printf '# kept' >"$scratch/shared/site_specific.conf"
ln -s ../shared/site_specific.conf "$scratch/slurm/site_specific.conf"
for kind in prolog epilog; do
	mkdir "$scratch/shared/$kind.d"
	ln -s "../shared/$kind.d" "$scratch/slurm/$kind.d"
done
printf 'Prolog=/etc/slurm/prolog.d/*\nHealthCheckProgram=""\n' >"$scratch/slurm/slurm.conf"

echo none >"$scratch/muster.check"
scheduler
[ -z "$(ls "$scratch/shared/prolog.d")" ] || fail "muster.check=none put a prolog there"
rm "$scratch/muster.check"
scheduler
scheduler
for kind in prolog epilog; do
	[ "$(ls -A "$scratch/shared/$kind.d")" = 50-muster ] || fail "$kind.d has not only 50-muster"
	grep -qx "script=/usr/share/muster/slurm/$kind.d/50-muster" "$scratch/shared/$kind.d/50-muster" || fail "not the $kind"
	[ -e /usr/share/muster ] || "$scratch/shared/$kind.d/50-muster" || fail "a node without muster would be drained"
	[ -x "$source/slurm/$kind.d/50-muster" ] || fail "no $kind.d/50-muster is installed"
done
[ "$(cat "$scratch/shared/site_specific.conf")" = "# kept
BatchStartTimeout=180" ] || fail "site_specific.conf: $(cat "$scratch/shared/site_specific.conf")"
[ "$(sort -u "$scratch/scontrol")" = reconfigure ] || fail "Slurm was not told"

echo healthcheck >"$scratch/muster.check"
scheduler
grep -qx 'HealthCheckProgram=/usr/share/muster/slurm/healthcheck' "$scratch/slurm/site_specific.conf" || fail "no health check"
[ -x "$source/slurm/healthcheck" ] || fail "no health check is installed"
printf 'HealthCheckProgram=/sched/a/health.sh\n' >"$scratch/slurm/slurm.conf"
cp "$scratch/shared/site_specific.conf" "$scratch/before"
scheduler
cmp "$scratch/before" "$scratch/shared/site_specific.conf" || fail "a health check of others was replaced"
grep -q 'a health check already' "$scratch/err" || fail "nothing was said of the other health check"
echo maybe >"$scratch/muster.check"
code=0
scheduler || code=$?
[ "$code" -eq 2 ] && grep -q 'not "maybe"' "$scratch/err" || fail "muster.check=maybe ended with $code"

# A node on which nothing can be installed starts all the same.
bash "$project/specs/execute/cluster-init/scripts/10-muster.sh" 2>"$scratch/err" || fail "the node would not start"
grep -q 'muster is not installed on this node: jetpack cannot download muster_' "$scratch/err" || fail "the log does not say why"

# The project has the version of the program.
version=$(sed -n 's/^project(muster VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
grep -qx "version = $version" "$project/project.ini" || fail "project.ini has another version than $version"
grep -qx "Files = muster_${version}_amd64.deb" "$project/project.ini" || fail "project.ini names another package"
grep -q "muster.package muster_${version}_amd64.deb" "$project/specs/execute/cluster-init/scripts/10-muster.sh" ||
	fail "the script for nodes names another package"
