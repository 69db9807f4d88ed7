# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 1 --mem 768
# programs: numabalanced numabalancectl
# Two processes on each other's nodes; the owner of one keeps it pinned and bound for three
# seconds more. Moving the memory of the other in the meantime would be for nothing.

balance_run 30 --procs 2 --mb 320 --place 1,0 --run 0,1 --release-after 0,7
expect local-in-15s "$(summary reach95) > 0 && $(summary reach95) <= 15"
expect stays-local "$(summary last_third) >= 0.95"
expect_no_more_moved
expect swaps-move-no-pages "$moved <= $(summary misplaced) * 0.02"
lab_end
