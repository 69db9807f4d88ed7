# SPDX-License-Identifier: MIT
# Functions of scenarios, for the guest's shell. A scenario prints one line for each thing
# that it checked: ok, not ok or skip; its exit status is 1 if one was not ok (lab_end).

lab_failed=0 part=

# A scenario of several parts names the present one in $part.
ok() { echo "ok $LAB_NAME/${part:+$part-}$1"; }
not_ok() {
	echo "not ok $LAB_NAME/${part:+$part-}$1${2:+: $2}"
	lab_failed=1
}
skip() { echo "skip $LAB_NAME/${part:+$part-}$1: $2"; }
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
# pages_elsewhere NODE < masks: pages that are not on the node.
pages_elsewhere() {
	tr ' ' '\n' | awk -F= -v node="N$1" '/^N[0-9]+=/ && $1 != node { n += $2 } END { print n + 0 }'
}

# json_get PATH < JSON: the value at a path, as .tasks[0].pid; json_lines shows all of them.
json_lines() { awk -f /lab/json.awk; }
json_get() { json_lines | awk -v path="$1" 'index($0, path "=") == 1 { print substr($0, length(path) + 2); exit }'; }

# --- the daemon ---------------------------------------------------------------
lab_socket=/run/numabalanced/control.sock

# start_daemon ARGS…: in the background; $daemon is its pid, its log /tmp/daemon.log.
start_daemon() {
	numabalanced "$@" >/tmp/daemon.log 2>&1 &
	daemon=$!
}
# daemon_answers: its socket does, within some seconds.
daemon_answers() { wait_until 15 ctl status >/dev/null 2>&1; }
ctl() { numabalancectl --socket "$lab_socket" --json "$@"; }
show_daemon() { tail -n "${1:-15}" /tmp/daemon.log | sed 's/^/# daemon: /'; }
# end_daemon [SIGNAL]: $daemon_status is its exit status.
end_daemon() {
	kill "-${1:-TERM}" "$daemon"
	wait "$daemon"
	daemon_status=$?
}

# status_of PATH, as .mode. task_of PID PATH, as .local_share.
status_of() { ctl status | json_get "$1"; }
task_of() { ctl task "$1" | json_get ".task$2"; }

# near A B: two shares that differ by 0.1 at most. In a quiet guest they differ by less than
# 0.05; on a busy host the two look at windows that are further apart.
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a != "-" && a - b <= 0.1 && b - a <= 0.1) }'; }
# Mean of a process (or all) over the last four half seconds.
recent() {
	grep "^sample.* proc=$1 " /tmp/workload.out | tail -n 4 | field local |
		awk '$1 != "-" { s += $1; n++ } END { if (n) printf "%.3f", s / n; else print "-" }'
}

# balance_run SECONDS ARGS…: the common course of a test: the workload runs alone for three
# seconds, then with the daemon for so many, and for four without again. Checks what holds
# of every workload: masks and exit status. Sets $moved (pages, what moved alone taken off).
balance_run() {
	balance_span=$1
	shift
	start_workload --duration $((balance_span + 10)) --span "$balance_span" "$@"
	# shellcheck disable=SC2086
	masks $workload_pids | grep cpus= >/tmp/masks.bound
	sleep 2
	balance_alone=$(counter pgmigrate_success)
	sleep 1
	balance_base=$(counter pgmigrate_success)
	mark
	start_daemon $daemon_args
	sleep $((balance_span - 3))
	masks $workload_pids | grep cpus= >/tmp/masks.during
	balance_status=$(ctl status)
	balance_tasks=$(ctl tasks)
	balance_recent=$(recent all)
	sleep 3
	moved=$(($(counter pgmigrate_success) - balance_base))
	end_daemon
	masks $workload_pids | grep cpus= >/tmp/masks.after
	end_workload
	show_daemon
	note "moved=$moved alone=$((balance_base - balance_alone)) hints=$(counter numa_hint_faults)"
	expect exit-status "$daemon_status == 0"
	if [ "$(grep -vc "cpus=0-$((LAB_CPUS - 1))\$" /tmp/masks.after)" = 0 ]; then
		ok masks-are-back
	else
		not_ok masks-are-back "$(tr '\n' ' ' </tmp/masks.after)"
	fi
}
# The bounds of a workload that can be put right: all of it local soon, and it stays so.
expect_local() {
	# Figures that are published are stricter; these hold on a busy host, too.
	expect local-in-15s "$(summary reach95) > 0 && $(summary reach95) <= 15"
	expect stays-local "$(summary last_third) >= 0.9"
	if near "$(echo "$balance_status" | json_get .local_share)" "$balance_recent"; then
		ok local-share-agrees
	else
		not_ok local-share-agrees "daemon: $(echo "$balance_status" | json_get .local_share), workload: $balance_recent"
	fi
}
expect_no_more_moved() {
	# 1 %: stacks and the like of the processes, that the workload does not count.
	expect no-more-moved-than-misplaced "$moved <= $(summary misplaced) * 1.01 + 64"
}
