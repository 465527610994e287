# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# node-check.sh - what prolog.d/50-muster, epilog.d/50-muster and healthcheck share; they source it
#
# The rule for all of them: only a failed check changes a node. If anything else is wrong (a setting, a missing program, a
# full disk), the node stays in service, and the log says why nothing was measured. As root, a script trusts no file
# that a user can write, and lets no user open its lock.
#
# Files in the folder MUSTER_LOG, which only root may write:
#   log, log.old         lines of say(), moved at 1 MB
#   lock                 held while a check measures, changes a node or writes strikes
#   healthcheck.pid      who measures for the health check, for a prolog that must end it (identity: pid and start time)
#   KIND.json, KIND.txt  last report and summary of healthcheck, prolog and epilog; keep() and drain() read the report
#   muster-strikes.json  first strikes and passes, read and written by muster drain and resume
#
# A script sets `title` (what the log calls it) and calls check_begin; muster.default describes the settings.

title=${title:-muster} site=/etc/default/muster
clear_state() {
	status=0 finished=no log='' folder='' lock='' running='' measuring=''
}
clear_state

# say WORDS...: append to the log, whose size is limited; to the system log if there is no log yet
say() {
	line="$title: $*"
	if [ -n "$log" ]; then
		[ "$(wc -c 2>/dev/null <"$log" || echo 0)" -le 1000000 ] || mv "$log" "$log.old"
		{ echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $line" >>"$log"; } 2>/dev/null && return
	fi
	logger -t muster -- "$line" 2>/dev/null || echo "muster: $line" >&2
}

# skip WORDS...: nothing is measured
skip() {
	say "check skipped: $*"
	finished=yes
	exit 0
}

# Whatever happens: the exit code is 0, or 1 after a failed check.
at_exit() {
	[ -z "$measuring" ] || kill "$measuring" 2>/dev/null
	[ "$finished" = yes ] || say "check skipped: the script ended early"
	exit "$status"
}

# ---- settings ----

# Take MUSTER_* and what the site file exports. It is read in a shell of its own, which has 5 s. site_problem: what is wrong
# with it.
read_site_file() {
	newline='
'
	[ -r "$site" ] || { site_problem='it cannot be read' && return; }
	! grep -q "$(printf '\r')" "$site" || { site_problem='it has Windows line ends' && return; }
	site_problem=$(sh -n "$site" 2>&1) || return
	# shellcheck disable=SC2016
	said=$(
		export MUSTER MUSTER_NODE_OPTIONS MUSTER_LOG MUSTER_DRAIN MUSTER_DRAIN_AT_MOST MUSTER_DRAIN_PER_HOUR \
			MUSTER_DRAIN_PER_RACK MUSTER_TEXTFILE MUSTER_HISTORY MUSTER_JSON_LOG MUSTER_STORAGE_IN_PROLOG
		timeout -k 1 5 sh -uc '. "$1" >/dev/null; trap - EXIT; echo end-of-site-file; export -p' sh "$site" 2>&1
	)
	code=$?
	case $said in
	end-of-site-file"$newline"*) eval "$(printf '%s\n' "${said#*"$newline"}" | sed 's/^export MUSTER/MUSTER/')" ;;
	*) site_problem=${said%%"$newline"*} ;;
	esac
	[ -n "$site_problem" ] || case $code,$said in
	124,*) site_problem='it takes longer than 5 s' ;;
	*,end-of-site-file*) ;;
	*) site_problem='it ends the script' ;;
	esac
}

# The settings, from the site file if there is one.
read_settings() {
	MUSTER=muster MUSTER_NODE_OPTIONS='' MUSTER_LOG=/var/log/muster MUSTER_DRAIN=yes MUSTER_DRAIN_AT_MOST=10%
	MUSTER_DRAIN_PER_HOUR=10% MUSTER_DRAIN_PER_RACK=2 MUSTER_TEXTFILE='' MUSTER_HISTORY='' MUSTER_JSON_LOG='' MUSTER_STORAGE_IN_PROLOG=''
	# A user can leave a pipe of the Multi-Process Service behind, where libcuda looks for it.
	export CUDA_MPS_PIPE_DIRECTORY=/nonexistent
	site_problem='' PATH=${PATH:-/usr/bin}:/usr/local/bin:/usr/bin:/bin
	if [ -e "$site" ] || [ -L "$site" ]; then
		read_site_file
		clear_state
	fi
	MUSTER=${MUSTER:-muster} MUSTER_LOG=${MUSTER_LOG:-/var/log/muster} MUSTER_NODE_OPTIONS=${MUSTER_NODE_OPTIONS:-}
	MUSTER_DRAIN=${MUSTER_DRAIN:-yes} MUSTER_DRAIN_AT_MOST=${MUSTER_DRAIN_AT_MOST:-10%}
	MUSTER_DRAIN_PER_HOUR=${MUSTER_DRAIN_PER_HOUR:-10%} MUSTER_DRAIN_PER_RACK=${MUSTER_DRAIN_PER_RACK:-2}
	export MUSTER_STORAGE_IN_PROLOG # muster node reads it
	PATH=$PATH:/usr/local/bin:/usr/bin:/bin
}

# Drop all variables of Slurm but those that say where Slurm is and which job this is. Others are options of Slurm's
# commands: SQUEUE_STATES=PENDING would hide a job that runs. For a job, forget_options of preflight.sbatch has the list.
forget_options() {
	for variable in $(env | sed -n 's/^\(\(SLURM\|SQUEUE\|SCONTROL\|SINFO\|SACCT\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
		case $variable in
		SLURM_CONF | SLURM_CONF_SERVER | SLURM_JWT | SLURM_SACK_* | SLURM_SCRIPT_CONTEXT | SLURM_JOB_ID | SLURM_JOB_GPUS) ;;
		*) unset "$variable" ;;
		esac
	done
}

# ---- the folder of the log, the reports and the lock ----

# Whether all folders above a path belong to root or to this user, and others cannot replace what is in them.
is_safe_below() {
	path=$1
	while [ "$path" != / ]; do
		path=$(dirname "$path")
		[ -n "$(find -H "$path" -maxdepth 0 \( -user 0 -o -user "$(id -u)" \) \
			\( ! -perm -0002 -o -perm -1000 \) 2>/dev/null)" ] || return 1
	done
}

open_folder() {
	case $MUSTER_LOG in
	/*) ;;
	*) skip "MUSTER_LOG is not an absolute path: $MUSTER_LOG" ;;
	esac
	mkdir -p "$MUSTER_LOG" 2>/dev/null || skip "cannot make the folder $MUSTER_LOG"
	folder=$(cd "$MUSTER_LOG" && pwd -P) || skip "cannot open the folder $MUSTER_LOG"
	if [ -z "$(find "$folder" -maxdepth 0 -user "$(id -u)" ! -perm /022)" ] || ! is_safe_below "$MUSTER_LOG" ||
		! is_safe_below "$folder"; then
		skip "users can change what is in $MUSTER_LOG: set MUSTER_LOG to a folder that only root can write"
	fi
	lock=$folder/lock
	{ : >>"$lock" && chmod 600 "$lock"; } 2>/dev/null || skip "cannot write to $MUSTER_LOG"
	running=$folder/healthcheck.pid log=$folder/log
}

# identity PID: the process id and the start time, which no later process has
identity() {
	fields=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	# shellcheck disable=SC2086
	set -- "$1" ${fields##*) }
	echo "$1 ${21}"
}

# End the measurement of a health check, also one whose script Slurm has killed. False if there is none.
end_health_check() {
	other=$(cat "$running" 2>/dev/null) || return 1
	[ -n "$other" ] && [ "$(identity "${other%% *}")" = "$other" ] && kill "${other%% *}" 2>/dev/null
}

# ---- the measurement ----

# Job ids of other jobs with a step on this node, at most one line. A machine may have several slurmd, each in a network
# of its own.
other_jobs() {
	here=$(readlink /proc/self/ns/net)
	# shellcheck disable=SC2009
	ps -U 0 -o pid=,args= 2>/dev/null | sed -n 's/^ *\([0-9]*\) slurmstepd: \[\([0-9]*\)\..*/\1 \2/p' |
		while read -r pid job; do
			[ "$job" = "${SLURM_JOB_ID:-}" ] || [ "$(readlink "/proc/$pid/ns/net")" != "$here" ] || echo "$job"
		done | sort -un | tr '\n' ' '
}

# in_background SETTING SECONDS COMMAND...: nothing waits for it: a session of its own, since Slurm ends the process group of a
# script that is done. If the command fails or takes longer, the log names the setting.
in_background() {
	# shellcheck disable=SC2016
	setsid sh -c 'log=$1 title=$2 setting=$3 seconds=$4
		shift 4
		{
			said=$(timeout -k 1 "$seconds" "$@" 2>&1) ||
				echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $title: $setting: ${said:-not written within $seconds s}" >>"$log"
		} &' \
		in_background "$log" "$title" "$@" </dev/null >/dev/null 2>&1 9>&-
}

# keep KIND: what MUSTER_TEXTFILE and MUSTER_HISTORY ask to do with a report. No job waits for a slow disk.
keep() {
	[ -s "$folder/$1.json" ] || return 0
	[ -z "${MUSTER_TEXTFILE:-}" ] ||
		in_background MUSTER_TEXTFILE 30 "$MUSTER" report "$folder/$1.json" --textfile "$MUSTER_TEXTFILE"
	[ -z "${MUSTER_HISTORY:-}" ] ||
		in_background MUSTER_HISTORY 60 "$MUSTER" history add "$folder/$1.json" --db "$MUSTER_HISTORY" --quiet
	return 0
}

# End the measurement of this health check as soon as a job begins. This ends with the measurement, also without the script.
watch_for_jobs() {
	exec 9>&- >/dev/null 2>&1
	mine=$(cat "$running")
	while [ -n "$mine" ] && [ "$(identity "${mine%% *}")" = "$mine" ]; do
		[ -z "$(other_jobs)" ] || end_health_check
		sleep 0.5
	done
}

# Whether MUSTER_JSON_LOG can be written, and users can put no link in its place.
can_write_json() {
	[ "${MUSTER_JSON_LOG#/}" != "$MUSTER_JSON_LOG" ] && is_safe_below "$MUSTER_JSON_LOG" &&
		[ -z "$(find -H "$(dirname "$MUSTER_JSON_LOG")" -maxdepth 0 -perm -0002)" ] && (umask 022 && : >>"$MUSTER_JSON_LOG") 2>/dev/null
}

# measure KIND SECONDS: check this node; sets text, and code to the exit code of muster node. `text` is also in KIND.txt.
# MUSTER_JSON_LOG has standard error.
measure() {
	others=$(other_jobs)
	say begins # so that the log shows a script that Slurm has killed
	rm -f "$folder/$1.json" "$folder/$1.txt"
	errors=$folder/$1.txt json=''
	if [ -n "${MUSTER_JSON_LOG:-}" ] && can_write_json; then
		errors=$MUSTER_JSON_LOG json='--log-format json'
		[ "$(wc -c <"$errors")" -le 10000000 ] || { mv "$errors" "$errors.old" && (umask 022 && : >>"$errors"); }
	elif [ -n "${MUSTER_JSON_LOG:-}" ]; then
		say "MUSTER_JSON_LOG: cannot write to $MUSTER_JSON_LOG, or users can write to its folder"
	fi
	# MUSTER_NODE_OPTIONS is a list of words. CUDA_VISIBLE_DEVICES of a job does not apply to the check.
	# shellcheck disable=SC2086
	(
		set -f
		unset CUDA_VISIBLE_DEVICES
		exec timeout -k 5 "$2" "$MUSTER" node --profile quick --deadline 30 ${others:+--beside-jobs} \
			--report "$folder/$1.json" $json $MUSTER_NODE_OPTIONS
	) >>"$folder/$1.txt" 2>>"$errors" 9>&- &
	measuring=$!
	if [ "$1" = healthcheck ]; then
		identity "$measuring" >"$running"
		watch_for_jobs &
	fi
	wait "$measuring"
	code=$?
	measuring=''
	[ "$1" != healthcheck ] || rm -f "$running"
	text=$(tail -n 1 "$folder/$1.txt")
	[ -n "$text" ] || text=$(tail -n 1 "$errors")
	say "exit $code: $text${others:+ (beside jobs ${others% })}"
}

# say_lines TEXT: each line
say_lines() {
	printf '%s\n' "$1" | grep . | while IFS= read -r each; do
		say "$each"
	done
}

# drain BY KIND [SECONDS]: drain the node for what has failed, and forget first strikes that have passed. A fact drains at once, a
# speed, a time or a count of errors in a second measurement a minute later; until then the node is in service. With a
# history, earlier measurements are those in it. In a trial, the log has what would be done. 0 if the node is drained now.
drain() {
	[ "$code" -eq 1 ] || { [ -z "${MUSTER_HISTORY:-}" ] && [ -e "$folder/muster-strikes.json" ]; } || return 1
	case $MUSTER_DRAIN in
	yes) apply=--apply ;;
	trial) apply='' ;;
	*)
		[ "$code" -ne 1 ] || say "not drained: MUSTER_DRAIN=$MUSTER_DRAIN"
		return 1
		;;
	esac
	said=$(timeout -k 1 "${3:-40}" "$MUSTER" drain "$folder/$2.json" $apply --by "$1" --at-most "$MUSTER_DRAIN_AT_MOST" \
		--per-hour "$MUSTER_DRAIN_PER_HOUR" --per-rack "$MUSTER_DRAIN_PER_RACK" --deadline 5 \
		${MUSTER_HISTORY:+--history "$MUSTER_HISTORY"} 2>&1 9>&-)
	drained=$?
	say_lines "$said"
	[ "$drained" -lt 124 ] || { say "muster drain: ended early, exit $drained" && drained=0; }
	[ -n "$apply" ] || return 1
	case $said in
	*State=UNDRAIN*) return 1 ;;
	*"scontrol update "*State=DRAIN*) return 0 ;; # also where the strikes could not be written
	*" drained by muster"* | *" reason from someone else"*) return "$drained" ;;
	esac
	return 1 # a setting of the node, and not the machine, or a first strike
}

# Settings, folder and program; skips the check if one of them is not right.
check_begin() {
	trap at_exit EXIT
	trap 'exit 0' HUP INT TERM
	umask 077
	read_settings
	forget_options
	for program in flock timeout find ps; do
		command -v "$program" >/dev/null || skip "program $program not found"
	done
	open_folder
	if [ -n "$site_problem" ]; then
		logger -t muster -- "$title: check skipped: $site: $site_problem" 2>/dev/null # MUSTER_LOG may be elsewhere
		skip "$site: $site_problem"
	fi
	command -v "$MUSTER" >/dev/null || skip "program $MUSTER not found"
	case $MUSTER_DRAIN in
	yes | no) ;;
	trial) MUSTER_HISTORY=${MUSTER_HISTORY:-/var/lib/muster/history.db} title="$title, trial" ;;
	*) say "MUSTER_DRAIN=$MUSTER_DRAIN: yes, no or trial is needed; no node is drained" ;;
	esac
	exec 9>>"$lock"
}
