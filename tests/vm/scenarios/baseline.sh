# SPDX-License-Identifier: MIT
# lab: --nodes 4 --cpus 1 --mem 512
# kernels: 6.1 6.12
# The lab itself: what starts wrong stays wrong when nobody mends it, and the kernel's own
# balancer mends it. Without these two, the figures of other scenarios would mean nothing.

ring="--procs 4 --mb 200 --place 1,2,3,0 --run 0,1,2,3 --duration 12"

check topology test "$(cat /sys/devices/system/node/online)" = 0-3
moved=$(counter pgmigrate_success)
start_workload $ring
end_workload
expect all-misplaced "$(summary misplaced) == 4 * 200 * 256"
expect stays-wrong-alone "$(summary last_third) <= 0.8"
expect nothing-moves-alone "$(counter pgmigrate_success) - $moved <= 64"

echo 1 >/proc/sys/kernel/numa_balancing
start_workload $ring
end_workload
expect kernel-mends-it "$(summary last_third) >= 0.4"
# Pages, or only threads where luck would have it; but the hinting faults were there.
expect kernel-samples "$(counter numa_hint_faults) > 1000"
counters | sed 's/^/# /'
lab_end
