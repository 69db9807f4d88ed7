# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 2 --mem 768
# kernels: 6.1 6.12
# programs: numabalanced numabalancectl
# A daemon that was killed could not put the masks back: the next one does, or --restore.

start_workload --procs 2 --threads 2 --mb 128 --place 1,0 --run 0,1 --duration 60
held() { masks $workload_pids | grep cpus= | grep -vc 'cpus=0-3$'; }
all_held() { [ "$(held)" = 4 ]; }
sleep 1
start_daemon
check holds wait_until 15 all_held
end_daemon KILL
expect still-held "$(held) == 4"
numabalanced --restore >/tmp/restore.log 2>&1
expect restore-status "$? == 0"
sed 's/^/# restore: /' /tmp/restore.log
expect restore-puts-back "$(held) == 0"

# The threads may have been pushed about since: the daemon holds what it finds worth it.
start_daemon
daemon_answers
wait_until 15 all_held
mine=$(held)
note "held by the second: $mine"
end_daemon KILL
start_daemon
check next-one-answers daemon_answers
sleep 3
end_daemon
expect exit-status "$daemon_status == 0"
expect next-one-puts-back "$(held) == 0"
# A second time there is nothing left to do.
numabalanced --restore >/tmp/restore.log 2>&1
expect restore-of-nothing "$? == 0"
expect all-local "$(recent all) >= 0.95"
show_daemon
kill "$workload"
lab_end
