# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 1 --mem 768
# programs: numabalanced numabalancectl
# Two processes on two nodes of one CPU, with all memory of both on one node: the memory of
# one of them has to move.

balance_run 40 --procs 2 --mb 160 --place 0,0 --run 0,1
expect starts-half "$(summary before) >= 0.2 && $(summary before) <= 0.8"
expect misplaced "$(summary misplaced) == 160 * 256"
expect local-in-25s "$(summary reach95) > 0 && $(summary reach95) <= 25"
expect stays-local "$(summary last_third) >= 0.95"
expect moved-them "$moved >= $(summary misplaced) * 0.95"
expect_no_more_moved
lab_end
