# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 2 --mem 768
# programs: numabalanced numabalancectl
# A dry run tells what it would do, and does nothing. Its figures agree with the workload's
# where they are neither 0 nor 1: a fifth process has its memory half here and half there.

start_workload --procs 3 --threads 1 --mb 160 --place 1,0,0+1 --run 0,1,1 --duration 24
sleep 1
masks $workload_pids >/tmp/before
base=$(counter pgmigrate_success)
start_daemon --dry-run
sleep 12
masks $workload_pids >/tmp/after
moved=$(($(counter pgmigrate_success) - base))
status=$(ctl status)
tasks=$(ctl tasks)
shares=$(for i in 0 1 2; do recent $i; echo; done)
sleep 1
end_daemon
expect exit-status "$daemon_status == 0"
grep cpus= /tmp/before >/tmp/masks.before
grep cpus= /tmp/after >/tmp/masks.after
check masks-stay cmp /tmp/masks.before /tmp/masks.after
expect pages-stay "$moved <= 64"
check says-so test "$(echo "$status" | json_get .mode)" = dry_run
expect plans "$(echo "$status" | json_get .totals.cancelled) >= 2"
expect does-nothing "$(echo "$status" | json_get .totals.bytes_moved) == 0 && $(echo "$status" | json_get .totals.moves) == 0 && $(echo "$status" | json_get .totals.swaps) == 0"
echo "$tasks" | json_lines >/tmp/tasks
i=0
for pid in $workload_pids; do
	row=$(sed -n "s/^\(\.tasks\[[0-9]*\]\)\.pid=$pid\$/\1/p" /tmp/tasks)
	value() { awk -v path="$row$1" 'index($0, path "=") == 1 { print substr($0, length(path) + 2) }' /tmp/tasks; }
	mine=$(echo "$shares" | sed -n "$((i + 1))p")
	if near "$(value .local_share)" "$mine"; then
		ok "local-share-agrees-$i"
	else
		not_ok "local-share-agrees-$i" "daemon: $(value .local_share), workload: $mine"
	fi
	[ $i = 2 ] || case $(value .reason) in
	swap | rotate | cpu_to_memory | memory_to_cpu | both_to_third | settling) ok "would-move-$i" ;;
	# The kernel's scheduler may have put it right meanwhile.
	local) expect would-move-$i "$mine >= 0.9" ;;
	*) not_ok "would-move-$i" "reason: $(value .reason)" ;;
	esac
	i=$((i + 1))
done
show_daemon
end_workload
lab_end
