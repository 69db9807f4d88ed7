# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 2 --mem 768
# programs: numabalanced numabalancectl
# Two processes of two threads that share their memory, each on the node of the other's.

balance_run 30 --procs 2 --threads 2 --mb 200 --place 1,0 --run 0,1
expect starts-wrong "$(summary before) <= 0.5"
expect_local
expect_no_more_moved
expect swaps-move-no-pages "$moved <= $(summary misplaced) * 0.01"
lab_end
