# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 2 --mem 768
# kernels: 6.1 6.12
# programs: numabalanced numabalancectl
# A cpuset that shrinks and grows under a held workload. Since 6.2 the kernel remembers what
# was asked for, and gives it back when the cpuset grows; before it forgets.

root=/sys/fs/cgroup
held() { masks $workload_pids | grep cpus= | grep -vc "cpus=$1\$"; }
# One of the two may have come home by itself, and is not held then.
all_held() {
	n_held=$(held "$1")
	[ "$n_held" = 4 ] || { [ "$n_held" -ge 2 ] && near "$(recent all)" 1; }
}

echo +cpuset >$root/cgroup.subtree_control
mkdir $root/work
run_one() {
	start_workload --procs 2 --threads 2 --mb 128 --place 1,0 --run 0,1 --duration 60
	for pid in $workload_pids; do echo "$pid" >$root/work/cgroup.procs; done
	sleep 1
	start_daemon
	check holds wait_until 15 all_held 0-3
}

part=running
run_one

# Within one node there is nothing to choose; nothing is forced out of the cpuset.
echo 0-1 >$root/work/cpuset.cpus
sleep 6
expect stays-inside "$(masks $workload_pids | grep cpus= | grep -vcE 'cpus=(0|1|0-1)$') == 0"
check says-so test "$(task_of "${workload_pids% *}" .reason)" = one_node_allowed
masks $workload_pids | sed 's/^/# /'

echo 0-3 >$root/work/cpuset.cpus
sleep 8
masks $workload_pids | sed 's/^/# /'
end_daemon
expect exit-status "$daemon_status == 0"
expect puts-back "$(held 0-3) == 0"

kill "$workload"
wait "$workload"

part=stopped
# Put back while the cpuset is small: all of it then, and all of a larger one later.
run_one
echo 2-3 >$root/work/cpuset.cpus
sleep 3
end_daemon
expect puts-back-small "$(held 2-3) == 0"
echo 0-3 >$root/work/cpuset.cpus
expect larger-later "$(held 0-3) == 0"
show_daemon
kill "$workload"
lab_end
