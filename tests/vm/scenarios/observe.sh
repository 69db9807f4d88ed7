# SPDX-License-Identifier: MIT
# lab: --nodes 3 --cpuless 2 --cpus 2 --mem 400 --append isolcpus=3
# kernels: 6.1 6.12
# programs: numabalanced
# tools: taskset
# What is seen of a machine: a node without CPUs, an isolated CPU, a task in a cpuset, a
# pinned one, and where the memory of each is.

look() {
	numabalanced "$@" --once --json >/tmp/once 2>/tmp/once.err || not_ok once "$(cat /tmp/once.err)"
	json_lines </tmp/once >/tmp/facts
}
value() { awk -v path="$1" 'index($0, path "=") == 1 { print substr($0, length(path) + 2); exit }' /tmp/facts; }
# task PID PATH
task() {
	task_at=$(sed -n "s/^\.tasks\(\[[0-9]*\]\)\.pid=$1\$/\1/p" /tmp/facts)
	value ".tasks$task_at$2"
}
# home PID: the node that has most of its memory.
home() {
	for home_i in 0 1; do
		echo "$(task "$1" ".nodes[$home_i].bytes") $(task "$1" ".nodes[$home_i].id")"
	done | sort -rn | awk 'NR == 1 { print $2 }'
}
# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "$2, not $3"; fi
}

start_workload --procs 4 --mb 80 --place 0,1,0,1 --run 1,0,0,1 --duration 120 --release-after 0
set -- $workload_pids
sleep 1 # until the workload has released itself
mkdir /sys/fs/cgroup/box
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
echo 0-1 >/sys/fs/cgroup/box/cpuset.cpus
echo "$3" >/sys/fs/cgroup/box/cgroup.procs
taskset -ap 2 "$4" >/dev/null
sleep 1
look

is node-0-cpus "$(value '.status.nodes[0].cpus')" 0-1
is isolated-is-left-out "$(value '.status.nodes[1].cpus')" 2
is no-cpus "$(value '.status.nodes[2].n_cpus')" 0
is no-class "$(value '.status.nodes[2].class')" none
is source "$(value .status.source)" schedstat
is nothing-rejected "$(value .status.totals.rejected_rows)" 0
is in-a-cpuset "$(task "$3" .reason)" one_node_allowed
is pinned "$(task "$4" .reason)" pinned
for i in 1 2 3 4; do
	eval pid=\$$i
	is source-of-memory "$(task "$pid" .mem_source)" numa_maps
	expect memory-is-all-there "$(task "$pid" .placed_bytes) >= 80 * 1048576"
	expect and-no-more "$(task "$pid" .placed_bytes) <= 84 * 1048576"
	case $i in
	1 | 3) place=0 ;;
	*) place=1 ;;
	esac
	is memory-is-where-it-is "$(home "$pid")" "$place"
done

# Larger ones are asked for their pages' nodes.
printf '[select]\nnuma_maps_limit = 64M\n' >/tmp/small.conf
look --config /tmp/small.conf
for i in 1 2; do
	eval pid=\$$i
	is source-of-memory "$(task "$pid" .mem_source)" query
	is memory-is-where-it-is "$(home "$pid")" $((i - 1))
done
kill "$workload"
lab_end
