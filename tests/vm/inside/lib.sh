# SPDX-License-Identifier: MIT
# Functions of scenarios, for the guest's shell. A scenario prints one line for each thing
# that it checked: ok, not ok or skip; its exit status is 1 if one was not ok (lab_end).

lab_failed=0

ok() { echo "ok $LAB_NAME/$1"; }
not_ok() {
	echo "not ok $LAB_NAME/$1${2:+: $2}"
	lab_failed=1
}
skip() { echo "skip $LAB_NAME/$1: $2"; }
note() { echo "# $*"; }
lab_end() { exit "$lab_failed"; }

# check NAME COMMAND…: ok if the command succeeds.
check() {
	check_name=$1
	shift
	if "$@"; then ok "$check_name"; else not_ok "$check_name" "$*"; fi
}
# expect NAME "A >= B": numbers, compared by awk.
expect() {
	if [ "$(awk "BEGIN { print ($2) ? 1 : 0 }" 2>/dev/null)" = 1 ]; then
		ok "$1"
	else
		not_ok "$1" "$2"
	fi
}

# wait_until SECONDS COMMAND…: tries five times a second.
wait_until() {
	wait_left=$(($1 * 5))
	shift
	until "$@"; do
		[ "$wait_left" -gt 0 ] || return 1
		wait_left=$((wait_left - 1))
		usleep 200000
	done
}

# counters: what the kernel counts of moves and hinting faults, as "NAME VALUE" lines.
counters() {
	grep -E '^(pgmigrate_success|pgmigrate_fail|numa_hint_faults|numa_pte_updates|numa_pages_migrated) ' \
		/proc/vmstat
}
counter() { counters | awk -v name="$1" '$1 == name { print $2; found = 1 } END { if (!found) print 0 }'; }

# field NAME: the value of NAME=VALUE in lines on standard input.
field() { sed -n "s/^\(.* \)\{0,1\}$1=\([^ ]*\).*\$/\2/p"; }

# start_workload ARGS…: in the background; returns when all its processes have started.
# Output in /tmp/workload.out; $workload is its pid, $workload_pids its processes'.
start_workload() {
	rm -f /tmp/mark /tmp/ready
	workload --mark /tmp/mark --ready /tmp/ready "$@" >/tmp/workload.out 2>&1 &
	workload=$!
	if ! wait_until 60 test -e /tmp/ready; then
		cat /tmp/workload.out
		not_ok workload "did not start"
		lab_end
	fi
	workload_pids=$(cat /tmp/ready)
}
mark() { : >/tmp/mark; }
# end_workload: waits for its end; then summary NAME is a field of its summary.
end_workload() {
	wait "$workload" || not_ok workload "$(tail -n 1 /tmp/workload.out)"
	grep -E '^(start|process|summary)' /tmp/workload.out | sed 's/^/# /'
}
summary() { grep '^summary' /tmp/workload.out | field "$1"; }
# The share of the last half second.
local_now() { grep 'proc=all' /tmp/workload.out | tail -n 1 | field local; }
# passes_between T0 T1: of all processes, in that time.
passes_at() { awk -v t="$1" '/^sample/ && /proc=all/ { split($2, a, "="); if (a[2] <= t + 0.1) { split($5, b, "="); v = b[2] } } END { print v + 0 }' /tmp/workload.out; }

# masks PID…: the CPUs that each thread may use.
masks() {
	for masks_pid in "$@"; do
		for masks_task in /proc/"$masks_pid"/task/*; do
			echo "pid=$masks_pid tid=${masks_task##*/} cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$masks_task/status" 2>/dev/null)"
		done
	done
}
# pages PID…: pages of each process on each node, of its private anonymous memory.
pages() {
	for pages_pid in "$@"; do
		awk -v pid="$pages_pid" '/ anon=/ { for (i = 3; i <= NF; i++) if ($i ~ /^N[0-9]+=/) {
				split(substr($i, 2), a, "="); n[a[1] + 0] += a[2]; if (a[1] + 0 > max) max = a[1] + 0 } }
			END { printf "pid=%s", pid; for (k = 0; k <= max; k++) printf " N%d=%d", k, n[k]; print "" }' \
			"/proc/$pages_pid/numa_maps"
	done
}
# pages_elsewhere NODE PID: pages of a process that are not on the node.
pages_elsewhere() {
	pages "$2" | tr ' ' '\n' | awk -F= -v node="N$1" '/^N/ && $1 != node { n += $2 } END { print n + 0 }'
}
# json_get PATH < JSON: the value at a path, as .tasks[0].pid; json_lines shows all of them.
json_lines() { awk -f /lab/json.awk; }
json_get() { json_lines | awk -v path="$1" 'index($0, path "=") == 1 { print substr($0, length(path) + 2); exit }'; }
