# shellcheck shell=sh
# node-check.sh - what prolog.d/50-muster, epilog.d/50-muster and healthcheck share; they source it
#
# The rule for all of them: only a failed check changes a node. If anything else is wrong (a setting, a missing program, a
# full disk), the node stays in service, and the log says why nothing was measured. As root, a script trusts no file
# that a user can write, and lets no user open its lock.
#
# A script sets `title` (what the log calls it) and calls check_begin; muster.default describes the settings.

title=${title:-muster} site=/etc/default/muster
status=0 finished=no log='' folder='' lock='' running='' measuring=''

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

# What is wrong with the site file; nothing if it can be sourced.
site_file_problem() {
	[ -r "$site" ] || { echo "it cannot be read" && return; }
	! grep -q "$(printf '\r')" "$site" || { echo "it has Windows line ends" && return; }
	said=$(sh -n "$site" 2>&1) || { printf '%s\n' "$said" && return; }
	# shellcheck source=/dev/null
	said=$(
		exec 2>&1
		. "$site" >/dev/null
		echo end-of-site-file
	)
	[ "$said" = end-of-site-file ] || printf '%s\n' "${said:-it ends the script}"
}

# The settings, from the site file if there is one.
read_settings() {
	MUSTER=muster MUSTER_NODE_OPTIONS='' MUSTER_LOG=/var/log/muster MUSTER_DRAIN=yes MUSTER_DRAIN_AT_MOST=10%
	MUSTER_TEXTFILE='' MUSTER_HISTORY='' MUSTER_JSON_LOG='' MUSTER_STORAGE_IN_PROLOG=''
	# A user can leave a pipe of the Multi-Process Service behind, where libcuda looks for it.
	export CUDA_MPS_PIPE_DIRECTORY=/nonexistent
	site_problem='' PATH=${PATH:-/usr/bin}:/usr/local/bin:/usr/bin:/bin
	if [ -e "$site" ] || [ -L "$site" ]; then
		site_problem=$(site_file_problem | head -n 1)
		# shellcheck source=/dev/null
		[ -n "$site_problem" ] || . "$site" >/dev/null
	fi
	MUSTER=${MUSTER:-muster} MUSTER_LOG=${MUSTER_LOG:-/var/log/muster} MUSTER_NODE_OPTIONS=${MUSTER_NODE_OPTIONS:-}
	MUSTER_DRAIN=${MUSTER_DRAIN:-yes} MUSTER_DRAIN_AT_MOST=${MUSTER_DRAIN_AT_MOST:-10%}
	export MUSTER_STORAGE_IN_PROLOG # muster node reads it
	PATH=$PATH:/usr/local/bin:/usr/bin:/bin
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

# keep KIND: what MUSTER_TEXTFILE and MUSTER_HISTORY ask to do with the last report. No job waits for a slow disk.
keep() {
	[ -s "$folder/$1.json" ] || return 0
	[ -z "${MUSTER_TEXTFILE:-}" ] ||
		in_background MUSTER_TEXTFILE 30 "$MUSTER" report "$folder/$1.json" --textfile "$MUSTER_TEXTFILE"
	[ -z "${MUSTER_HISTORY:-}" ] ||
		in_background MUSTER_HISTORY 60 "$MUSTER" history add "$folder/$1.json" --db "$MUSTER_HISTORY" --quiet
	return 0
}

# measure KIND SECONDS: check this node; sets text, and code to the exit code of muster node. `text` is also in KIND.txt.
# MUSTER_JSON_LOG has standard error.
measure() {
	others=$(other_jobs)
	rm -f "$folder/$1.json" "$folder/$1.txt"
	errors=$folder/$1.txt json=''
	if [ -n "${MUSTER_JSON_LOG:-}" ] && (umask 022 && : >>"$MUSTER_JSON_LOG") 2>/dev/null; then
		errors=$MUSTER_JSON_LOG json='--log-format json'
		[ "$(wc -c <"$errors")" -le 10000000 ] || { mv "$errors" "$errors.old" && (umask 022 && : >>"$errors"); }
	elif [ -n "${MUSTER_JSON_LOG:-}" ]; then
		say "MUSTER_JSON_LOG: cannot write to $MUSTER_JSON_LOG"
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
	[ "$1" != healthcheck ] || identity "$measuring" >"$running"
	wait "$measuring"
	code=$?
	measuring=''
	[ "$1" != healthcheck ] || rm -f "$running"
	text=$(tail -n 1 "$folder/$1.txt")
	[ -n "$text" ] || text=$(tail -n 1 "$errors")
	say "exit $code: $text${others:+ (beside jobs ${others% })}"
	keep "$1"
}

# say_lines TEXT: each line
say_lines() {
	printf '%s\n' "$1" | grep . | while IFS= read -r each; do
		say "$each"
	done
}

# drain BY REPORT: 0 if the node is drained now
drain() {
	if [ "$MUSTER_DRAIN" != yes ]; then
		say "not drained: MUSTER_DRAIN=$MUSTER_DRAIN"
		return 1
	fi
	said=$("$MUSTER" drain "$2" --apply --by "$1" --at-most "$MUSTER_DRAIN_AT_MOST" --deadline 5 2>&1 9>&-)
	drained=$?
	say_lines "$said"
	case $said in
	*": only the launch of the job failed there"*) return 1 ;; # a setting of the node, and not the machine
	esac
	return "$drained"
}

# Settings, folder and program; skips the check if one of them is not right.
check_begin() {
	trap at_exit EXIT
	trap 'exit 0' HUP INT TERM
	umask 077
	read_settings
	for program in flock timeout find ps; do
		command -v "$program" >/dev/null || skip "program $program not found"
	done
	open_folder
	if [ -n "$site_problem" ]; then
		logger -t muster -- "$title: check skipped: $site: $site_problem" 2>/dev/null # MUSTER_LOG may be elsewhere
		skip "$site: $site_problem"
	fi
	command -v "$MUSTER" >/dev/null || skip "program $MUSTER not found"
	exec 9>>"$lock"
}
