# SPDX-License-Identifier: MIT
# lab: --nodes 4 --cpus 1 --mem 512
# The workload's own promises: it starts as it was told, and is released as it says.

one_mask() { masks $workload_pids | grep cpus= | sort -u -t= -k4 | field cpus | tr '\n' ' '; }
# Pages of the first process on a node.
on_node() { masks $workload_pids | grep pages | head -n 1 | field "N$1"; }
huge_kb() { awk '/^AnonHugePages/ { n += $2 } END { print n + 0 }' "/proc/${workload_pids%% *}/smaps_rollup"; }

# Threads with slices of their own, a thread a node, all memory on the first: a quarter is right.
start_workload --procs 1 --threads 4 --private --mb 64 --place 0 --run 0+1+2+3 --duration 4
sleep 2
check released test "$(one_mask)" = "0-3 "
end_workload
expect private-misplaced "$(summary misplaced) == 3 * 16 * 256"
expect private-local "$(summary last_third) >= 0.2 && $(summary last_third) <= 0.3"

# Memory in equal parts on all nodes: wherever its thread is, a quarter is local.
start_workload --procs 1 --mb 64 --place 0+1+2+3 --run 2 --duration 3
end_workload
expect parts-misplaced "$(summary misplaced) == 48 * 256"
expect parts-local "$(summary last_third) >= 0.2 && $(summary last_third) <= 0.3"

# Pinned and bound until released.
start_workload --procs 2 --mb 32 --place 1,0 --run 2,3 --release-after 0,5 --duration 8
sleep 2
check not-yet-released test "$(masks ${workload_pids#* } | field cpus)" = 3
check bound-until-then grep -q 'bind:0' "/proc/${workload_pids#* }/numa_maps"
check the-other-is test "$(masks ${workload_pids% *} | field cpus)" = 0-3
sleep 5
check released-later test "$(masks ${workload_pids#* } | field cpus)" = 0-3
if grep -q bind "/proc/${workload_pids#* }/numa_maps"; then not_ok policy-is-released; else ok policy-is-released; fi
end_workload
expect elsewhere-misplaced "$(summary misplaced) == 2 * 32 * 256"

# Memory that grows: a quarter at first, all at the end, where its thread runs.
start_workload --procs 1 --mb 64 --place 0 --run 0 --grow 4 --duration 7
first=$(on_node 0)
sleep 6
last=$(masks $workload_pids | tr ' ' '\n' | awk -F= '/^N/ { n += $2 } END { print n }')
end_workload
expect grows-from-a-quarter "$first >= 16 * 256 && $first <= 24 * 256"
expect grows-to-all "$last >= 64 * 256"

start_workload --procs 1 --mb 64 --thp --duration 1
huge=$(huge_kb)
end_workload
start_workload --procs 1 --mb 64 --duration 1
small=$(huge_kb)
end_workload
expect huge-pages "$huge == 64 * 1024 && $small == 0"

# The marked time, and what came before it.
start_workload --procs 1 --mb 32 --place 0 --run 1 --duration 6 --span 2
sleep 2
mark
end_workload
expect mark "$(summary mark) > 0 && $(summary mark) < 6"
expect before-mark "$(summary before) <= 1"

# Half busy: a CPU that has nothing else to do is idle for about half of the time.
start_workload --procs 1 --mb 32 --think 50 --duration 4
run0=$(cut -d' ' -f1 "/proc/$workload_pids/schedstat")
t0=$(cut -d' ' -f1 /proc/uptime)
sleep 3
run1=$(cut -d' ' -f1 "/proc/$workload_pids/schedstat")
t1=$(cut -d' ' -f1 /proc/uptime)
end_workload
expect half-busy "($run1 - $run0) / 1e9 / ($t1 - $t0) >= 0.25 && ($run1 - $run0) / 1e9 / ($t1 - $t0) <= 0.75"

if workload --mb none >/dev/null 2>&1; then not_ok refuses-nonsense; else ok refuses-nonsense; fi
lab_end
