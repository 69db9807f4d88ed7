# SPDX-License-Identifier: MIT
# lab: --nodes 4 --cpus 1 --mem 512
# kernels: 6.1 6.12
# programs: numabalanced numabalancectl
# Four processes, each on the node of another's memory, on four full nodes: three swaps of
# CPUs put them right, and no page needs to move.

balance_run 30 --procs 4 --mb 200 --place 1,2,3,0 --run 0,1,2,3
expect starts-wrong "$(summary before) <= 0.5"
expect_local
expect_no_more_moved
expect swaps-move-no-pages "$moved <= $(summary misplaced) * 0.01"
expect holds-them "$(grep -vc 'cpus=0-3$' /tmp/masks.during) >= 2"
lab_end
