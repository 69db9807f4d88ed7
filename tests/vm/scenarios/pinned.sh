# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 2 --mem 768
# kernels: 6.1 6.12
# programs: numabalanced numabalancectl
# What its owner has placed stays: a pinned thread, and bound memory, however wrong.

start_workload --procs 2 --mb 128 --place 1,0 --run 0,1 --duration 25 --release-after 1000
sleep 1
masks $workload_pids >/tmp/before
base=$(counter pgmigrate_success)
start_daemon
check answers daemon_answers
sleep 12
masks $workload_pids >/tmp/after
for pid in $workload_pids; do
	reason=$(task_of "$pid" .reason)
	case $reason in
	pinned | bound | one_node_allowed) ok leaves-alone ;;
	*) not_ok leaves-alone "reason: $reason" ;;
	esac
done
end_daemon
expect exit-status "$daemon_status == 0"
check masks-and-pages-stay cmp /tmp/before /tmp/after
expect pages-stay "$(counter pgmigrate_success) - $base <= 64"
show_daemon
kill "$workload"
lab_end
