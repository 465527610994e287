#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh - a real Slurm with several nodes of simulated GPUs, on this machine
#
# usage: cluster.sh up N SKU [--gpus N] [--gres LIST] [--node WORDS] [--fault KIND@WHERE]... [--conf LINE]... [--plugstack LINE]...
#        cluster.sh run COMMAND...         as a user on the login node would, in the current directory
#        cluster.sh on NODE COMMAND...     the same on a node, by its number
#        cluster.sh fault [KIND@WHERE]...  break this and nothing else, from now on
#        cluster.sh kill NODE              end a node's slurmd at once, and leave its tasks
#        cluster.sh lose NODE              end all that runs on a node at once, as when its power fails
#        cluster.sh start NODE             start its slurmd again
#        cluster.sh status | logs | down   logs: the last lines of each
#
# --gpus: Slurm knows of so many GPUs a node, not of all. --gres: Slurm's list of a node's resources, with GPUs of one type
# (nic:4,gpu:TYPE:2). --node: more of the nodes' line (CoreSpecCount=1). --conf, --plugstack: one line more of slurm.conf,
# plugstack.conf.
# MUSTER_CLUSTER names the cluster's directory (default /tmp/muster-cluster-UID); MUSTER_PROGRAM is the muster to use
# (default build/muster); MUSTER_CLUSTER_LIFE ends the cluster after so many seconds (default 3600).
# MUSTER_CLUSTER_HOME, a directory around the cluster's own: the cluster ends as soon as nobody has held a flock(2) of the
# file `lock` in it for MUSTER_CLUSTER_LINGER seconds (default 10), and removes that directory.
#
# slurmctld, a munge daemon with a key of its own and one slurmd for each node run in one PID namespace, so that ending
# its first process ends everything, and its network, mounts and host names with it. A node has its own network, host
# name and /dev/shm; nodes are called gpu-1, gpu-2, ...: node K runs as node K of the simulation in DIRECTORY/sim. The
# login node, where slurmctld runs too, is called login. /var/log of node K is var/gpu-K in the directory. Exit code 77: this machine cannot do it, with the reason.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$here/$(basename "${BASH_SOURCE[0]}")
dir=${MUSTER_CLUSTER:-/tmp/muster-cluster-$(id -u)}
program=${MUSTER_PROGRAM:-$here/../../build/muster}
life=${MUSTER_CLUSTER_LIFE:-3600}
home=${MUSTER_CLUSTER_HOME:-} linger=${MUSTER_CLUSTER_LINGER:-10}
network=10.77.0 # .254 is the login node, .K is node K; nobody outside the namespace sees it
export PATH=$PATH:/usr/sbin:/sbin
gpus='' cpus='' shape='' memory='' number='' sku='' # of the cluster that is up, from its file facts

die() {
	echo "cluster.sh: $*" >&2
	exit 2
}

skip() {
	echo "skipped: $*"
	exit 77
}

usage() {
	sed -n '3,11s/^# \{0,1\}//p' "$self" >&2
	exit 2
}

# wait_until SECONDS COMMAND...: whether it came true
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.3
	done
}

# ---- what this machine must have ----

needs() {
	local command
	[[ $(id -u) == 0 ]] || skip "a cluster of namespaces needs root"
	for command in slurmctld slurmd srun munged ip unshare nsenter mpirun python3; do
		command -v "$command" >/dev/null || skip "no $command here (packages slurm-wlm, munge, iproute2, openmpi-bin)"
	done
	unshare --net --uts --mount --pid --fork --mount-proc sh -c \
		'hostname login && ip link add br0 type bridge && mount -t tmpfs muster /dev/shm &&
			mknod /dev/shm/device c 195 0' 2>/dev/null ||
		skip "this machine does not allow namespaces with a bridge, a mount and a character device"
}

# ---- processes of the cluster, seen from outside ----

# A process id together with its start time is never used twice. A process that has ended has no identity, whether or
# not its parent has asked for its exit code.
identity() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	read -ra fields <<<"$stat"
	[[ ${fields[0]} != Z ]] || return 1
	echo "$1 ${fields[19]}"
}

has_ended() {
	[[ $(identity "$1") != "$1 $2" ]]
}

holder_lives() {
	[[ -s $dir/holder ]] && [[ $(identity "$(cut -d' ' -f1 "$dir/holder")") == $(cat "$dir/holder") ]]
}

holder_is_gone() {
	! holder_lives
}

has_started_or_ended() {
	[[ -e $dir/started ]] || holder_is_gone
}

# The first process of the cluster's namespaces.
init() {
	local holder
	holder_lives || die "no cluster is up in $dir"
	holder=$(cut -d' ' -f1 "$dir/holder")
	tr -d ' ' <"/proc/$holder/task/$holder/children"
}

# ---- files ----

facts() {
	python3 - "$dir/sim/cluster.json" <<'END'
import json, sys
node = json.load(open(sys.argv[1], encoding="utf-8"))["nodes"][0]
masks = []
for numa in node["numas"]:
    mask = 0
    for part in filter(None, numa["cpu_list"].split(",")):
        first, _, last = part.partition("-")
        mask |= sum(1 << cpu for cpu in range(int(first), int(last or first) + 1))
    masks.append(mask)
# NUMA nodes count as sockets, as `muster bind` advises
cpus, threads, sockets = bin(sum(masks)).count("1"), node["threads_per_core"], sum(1 for mask in masks if mask)
print(f"gpus={len(node['gpus'])} cpus={cpus} all_cpus={sum(masks):x}")
print(f"shape='Sockets={sockets} CoresPerSocket={cpus // sockets // threads} ThreadsPerCore={threads}'")
print(f"memory={int(sum(numa['memory_mib'] for numa in node['numas']))}")
END
}

# prepare NUMBER SKU FAULT...: a new simulation, which takes the place of the one there was
prepare() {
	local number=$1 sku=$2 new fault words=()
	shift 2
	for fault; do words+=(--fault "$fault"); done
	new=$dir/sim.$(date +%s%N)
	"$program" sim --sku "$sku" --nodes "$number" --prepare "$new" ${words[@]+"${words[@]}"}
	ln -sfn "$new" "$dir/sim.next"
	mv -T "$dir/sim.next" "$dir/sim"
}

read_facts() {
	# shellcheck source=/dev/null
	source "$dir/facts"
}

write_files() {
	local known_gpus=${1:-$gpus} gres=${2:-} node=${3:-} pmix version k name
	mkdir -p "$dir"/{etc/default,log,state,run,bin,dev,tmp}
	for ((k = 1; k <= number; k++)); do mkdir -p "$dir"/{nodes,var}/"gpu-$k"; done

	pmix=none
	for k in /usr/lib/*/slurm*/mpi_pmix.so; do [[ ! -e $k ]] || pmix=pmix; done
	cat >"$dir/etc/slurm.conf" <<END
ClusterName=muster
SlurmctldHost=login($network.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/nodes/%n
TmpFS=$dir/nodes/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
MpiDefault=$pmix
PlugStackConfig=$dir/etc/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,bf_interval=1
ReturnToService=2
SlurmdTimeout=20
GresTypes=$(tr ',' '\n' <<<"${gres:-gpu}" | cut -d: -f1 | paste -sd,)
NodeName=gpu-[1-$number] NodeAddr=$network.[1-$number] CPUs=$cpus $shape RealMemory=$memory Gres=${gres:-gpu:$known_gpus} $node
PartitionName=gpu Nodes=ALL Default=YES State=UP
END
	{
		echo "127.0.0.1 localhost"
		echo "$network.254 login"
		for ((k = 1; k <= number; k++)); do echo "$network.$k gpu-$k"; done
	} >"$dir/etc/hosts"
	# The lines for gres.conf are muster's own; cores mean nothing here, with fewer GPUs than the machine type has.
	if ((known_gpus == gpus)); then
		"$program" bind --sku "$sku" | sed -n "s|File=/dev/|File=$dir/dev/|p" >"$dir/etc/gres.conf"
	else
		echo "Name=gpu File=$dir/dev/nvidia[0-$((known_gpus - 1))]" >"$dir/etc/gres.conf"
	fi
	if [[ -n $gres ]]; then
		sed -i "s/^Name=gpu /&Type=$(grep -oP '\bgpu:\K[^:]+(?=:)' <<<"$gres") /" "$dir/etc/gres.conf"
		for name in $(tr ',' '\n' <<<"$gres" | grep -v '^gpu:'); do # without a type
			echo "Name=${name%%:*} Count=${name##*:}" >>"$dir/etc/gres.conf"
		done
	fi
	# read with --conf TopologyPlugin=topology/tree: every node has a switch of its own, below one for all
	for ((k = 1; k <= number; k++)); do echo "SwitchName=leaf-$k Nodes=gpu-$k"; done >"$dir/etc/topology.conf"
	echo "SwitchName=core Switches=leaf-[1-$number]" >>"$dir/etc/topology.conf"
	: >"$dir/etc/plugstack.conf"
	# From Slurm 23.11 on slurmd wants cgroups, whatever else is configured; 22.05 does not know this word.
	version=$(slurmd -V | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
	if [[ $(printf '%s\n' 23.11 "$version" | sort -V | head -n 1) == 23.11 ]]; then
		echo "CgroupPlugin=disabled" >"$dir/etc/cgroup.conf"
	fi
	printf '%s\n' "MUSTER=$dir/bin/muster" "MUSTER_LOG=$dir/log/muster-\$(hostname)" >"$dir/etc/default/muster"
	dd if=/dev/urandom of="$dir/etc/munge.key" bs=1024 count=1 status=none
	chmod 600 "$dir/etc/munge.key"
	# as an installed muster would lie
	mkdir -p "$dir/share/muster"
	ln -s "$here/simulated.sh" "$dir/bin/muster"
	ln -s "$here/mpirun.sh" "$dir/bin/mpirun"
	ln -s "$(realpath "$here/../../slurm")" "$dir/share/muster/slurm"
}

# ---- the inside ----

# Nobody has held the lock for so long. It is held here from then on, so that nobody takes a cluster that is ending.
is_forgotten() {
	[[ -n $home ]] || return 1
	[[ -e $home/lock ]] || return 0
	exec {held}<"$home/lock"
	if flock --nonblock "$held"; then
		((++unused < linger)) || return 0
	else
		unused=0
	fi
	exec {held}<&-
	return 1
}

# The end that nobody asked for. The directory gets another name first: its old one may be taken again at once.
give_up() {
	local gone
	[[ -n $home && $dir == "$home"/* ]] || return 0
	kill -KILL -- -1 || true # all in this PID namespace but the one that does it
	umount -l "$dir/dev"
	gone=$home.gone.$(date +%s%N)
	mv -T "$home" "$gone" && rm -rf "$gone"
}

# The first process: it lives as long as the cluster, and gives up when nobody wants it any more.
inside() {
	local k held never unused=0
	read_facts
	cd "$dir" # and not where the first test is, whose folder will go
	hostname login
	mount --bind "$dir/etc/hosts" /etc/hosts
	[[ ! -d /etc/default ]] || mount --bind "$dir/etc/default" /etc/default
	mount -t tmpfs muster "$dir/dev"
	mount -t tmpfs muster /dev/shm
	for ((k = 0; k < gpus; k++)); do mknod "$dir/dev/nvidia$k" c 195 "$k"; done
	ip link set lo up
	ip link add br0 type bridge
	ip address add "$network.254/24" dev br0
	ip link set br0 up

	munged --force --key-file "$dir/etc/munge.key" --socket "$dir/run/munge.socket" --pid-file "$dir/run/munged.pid" \
		--log-file "$dir/log/munged" --seed-file "$dir/run/munged.seed" --num-threads 2
	slurmctld -c
	for ((k = 1; k <= number; k++)); do start_node "$k"; done
	touch "$dir/started"
	exec {never}<> <(:)
	while [[ -e $dir/started ]] && ((SECONDS < life)) && ! is_forgotten; do
		read -rt 1 -u "$never" || true # a second, without a process
	done
	give_up
}

start_node() {
	setsid unshare --net --uts --mount "$self" _node "$1" </dev/null >>"$dir/log/gpu-$1.out" 2>&1 &
}

node() {
	local k=$1
	cd "$dir"
	hostname "gpu-$k"
	mount -t tmpfs muster /dev/shm
	mount --bind "$dir/var/gpu-$k" /var/log
	nsenter --net -t 1 ip link delete "veth$k" 2>/dev/null || true
	nsenter --net -t 1 ip link add "veth$k" type veth peer name eth0 netns "$$"
	nsenter --net -t 1 ip link set "veth$k" master br0 up
	ip link set lo up
	ip address add "$network.$k/24" dev eth0
	ip link set eth0 up
	rm -f "$dir/nodes/gpu-$k"/stepd.slurm.pmix.* "$dir/nodes/gpu-$k"/pmix.*
	export PATH=$dir/bin:$PATH
	exec slurmd -D -N "gpu-$k"
}

# In the namespaces of process $1 (a login shell on that node), the rest is a command.
enter() {
	local process=$1 place=$PWD
	shift
	# The nodes of another cluster have the same names: in one /tmp, Open MPI would take their folders for its own.
	SLURM_CONF=$dir/etc/slurm.conf PATH=$dir/bin:$PATH MUSTER_CLUSTER=$dir TMPDIR=$dir/tmp \
		nsenter -t "$process" --net --uts --mount --pid -- sh -c 'cd "$1" && shift && exec "$@"' enter "$place" "$@"
}

# The process id, out here, of a node's slurmd.
slurmd_of() {
	local process processes words
	read -ra processes < <(cat "/proc/$(init)/task/"*/children)
	for process in "${processes[@]}"; do
		words=$({ tr '\0' ' ' <"/proc/$process/cmdline"; } 2>/dev/null) || continue
		[[ $words != *"slurmd -D -N gpu-$1 " ]] || echo "$process"
	done
}

# End every process in a node's network.
lose() {
	local there process
	exec {there}<"/proc/$(slurmd_of "$1")/ns/net" # which stays when slurmd has gone
	for process in /proc/[0-9]*; do
		[[ ! $process/ns/net -ef /dev/fd/$there ]] || kill -KILL "${process#/proc/}" 2>/dev/null || true
	done
	exec {there}<&-
}

all_idle() {
	[[ $(enter "$(init)" sinfo -h -N -p gpu -o %T 2>/dev/null | sort | uniq -c | tr -s ' ') == " $1 idle" ]]
}

# ---- subcommands ----

tell_logs() {
	find "$dir/log" -type f -size +0 ! -name '*.json' -exec tail -v -n 20 {} + >&2 || true # there may be none yet
}

up() {
	local known_gpus='' gres='' node='' faults=() conf=() plugstack=() holder
	[[ ${1:-} =~ ^[1-9][0-9]?$ && ${2:-} =~ ^[A-Za-z0-9_]+$ ]] || usage
	number=$1 sku=$2
	shift 2
	while (($# > 1)); do
		case $1 in
		--gpus) known_gpus=$2 ;;
		--gres) gres=$2 ;;
		--node) node=$2 ;;
		--fault) faults+=("$2") ;;
		--conf) conf+=("$2") ;;
		--plugstack) plugstack+=("$2") ;;
		*) usage ;;
		esac
		shift 2
	done
	(($# == 0)) || usage
	! holder_lives || die "a cluster is already up in $dir; take it down first, or give MUSTER_CLUSTER another directory"
	[[ ! -e $dir ]] || [[ -e $dir/facts ]] || die "$dir is there, and is not a cluster's directory"
	[[ $dir =~ ^/[A-Za-z0-9./_-]+$ ]] || die "the directory must be an absolute path of plain characters, not \"$dir\""
	((${#dir} < 60)) || die "$dir is too long a path for the sockets in it"
	[[ -x $program ]] || die "no program $program; build muster first, or set MUSTER_PROGRAM"
	program=$(realpath "$program")
	needs

	rm -rf "$dir"
	trap 'status=$?; ((status == 0)) || { tell_logs; down; }' EXIT
	mkdir -m 755 "$dir"
	touch "$dir/facts" # now it is ours
	prepare "$number" "$sku" ${faults[@]+"${faults[@]}"}
	facts >"$dir/facts"
	printf '%s\n' "number=$number" "sku=$sku" "program=$(printf %q "$program")" >>"$dir/facts"
	read_facts
	write_files "$known_gpus" "$gres" "$node"
	((${#conf[@]} == 0)) || printf '%s\n' "${conf[@]}" >>"$dir/etc/slurm.conf"
	((${#plugstack[@]} == 0)) || printf '%s\n' "${plugstack[@]}" >>"$dir/etc/plugstack.conf"

	SLURM_CONF=$dir/etc/slurm.conf MUSTER_CLUSTER=$dir MUSTER_CLUSTER_LIFE=$life setsid \
		unshare --net --uts --mount --pid --fork --kill-child=KILL --mount-proc "$self" _inside \
		</dev/null >"$dir/log/start" 2>&1 &
	holder=$!
	identity "$holder" >"$dir/holder"
	wait_until 60 has_started_or_ended
	[[ -e $dir/started ]] || die "the cluster did not start"
	wait_until 150 all_idle "$number" || die "the nodes did not come up: $(enter "$(init)" sinfo -N -l 2>&1)"
	echo "$number nodes of $sku are up in $dir"
}

down() {
	local first
	[[ -e $dir/facts ]] || return 0
	if holder_lives; then
		first=$(init)
		# The first process of a PID namespace ends as the last of all that are in it.
		read -ra first <<<"$(identity "${first:-0}" || true)"
		kill -KILL "${first[0]:-$(cut -d' ' -f1 "$dir/holder")}" 2>/dev/null || true
		((${#first[@]} == 0)) || wait_until 60 has_ended "${first[@]}" || die "the cluster's first process does not end"
		wait_until 60 holder_is_gone || die "the process that holds the cluster does not end"
	fi
	# The namespaces are gone with their last process; a mount in $dir/dev was only ever visible in there.
	wait_until 60 rm -rf "$dir" 2>/dev/null || die "$dir cannot be removed"
}

change_faults() {
	read_facts
	prepare "$number" "$sku" "$@"
}

command=${1:-}
(($# == 0)) || shift
case $command in
up) up "$@" ;;
down) down ;;
logs) tell_logs ;;
run) enter "$(init)" "$@" ;;
on) (($# > 1)) && enter "$(slurmd_of "$1")" "${@:2}" ;;
fault) init >/dev/null && change_faults "$@" ;;
kill) (($# == 1)) && kill -KILL "$(slurmd_of "$1")" ;;
lose) (($# == 1)) && lose "$1" ;;
start) (($# == 1)) && enter "$(init)" "$self" _start "$1" ;;
status)
	holder_lives || { echo "down" && exit 1; }
	enter "$(init)" sinfo -N -l
	enter "$(init)" squeue
	;;
_inside) inside ;;
_node) node "$1" ;;
_start) start_node "$1" ;;
*) usage ;;
esac
