# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 2 --mem 768
# kernels: 6.1 6.12
# programs: numabalanced numabalancectl
# A daemon that was killed could not put the masks back: the next one does, or --restore.

held() { masks $workload_pids | grep cpus= | grep -vc 'cpus=0-3$'; }
# One of the two may have come home by itself, and is not held then.
all_held() {
	n_held=$(held)
	[ "$n_held" = 4 ] || { [ "$n_held" -ge 2 ] && near "$(recent all)" 1; }
}
# A workload whose threads a daemon holds that is killed then.
kill_one() {
	start_workload --procs 2 --threads 2 --mb 128 --place 1,0 --run 0,1 --duration 90
	sleep 1
	start_daemon
	check holds wait_until 25 all_held
	end_daemon KILL 2>/dev/null
	expect still-held "$(held) == $n_held"
}

part=restore
kill_one
numabalanced --restore >/tmp/restore.log 2>&1
expect status "$? == 0"
sed 's/^/# restore: /' /tmp/restore.log
expect puts-back "$(held) == 0"
numabalanced --restore >/tmp/restore.log 2>&1
expect second-time-status "$? == 0"
kill "$workload"
wait "$workload"

part=next
kill_one
start_daemon
check answers daemon_answers
sleep 5
expect all-local "$(recent all) >= 0.95"
end_daemon
expect exit-status "$daemon_status == 0"
expect puts-back "$(held) == 0"
show_daemon
kill "$workload"
lab_end
