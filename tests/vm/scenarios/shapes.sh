# SPDX-License-Identifier: MIT
# lab: --nodes 4 --cpus 2 --mem 768 --timeout 300
# programs: numabalanced numabalancectl
# More processes than nodes, and processes of as many threads as a node has CPUs; every CPU
# is busy, and every page on a wrong node.

part=8x1
balance_run 18 --procs 8 --mb 128 --place 1,2,3,0 --run 0,1,2,3
expect_local
expect_no_more_moved

part=4x2
balance_run 18 --procs 4 --threads 2 --mb 200 --place 1,2,3,0 --run 0,1,2,3
expect_local
expect_no_more_moved
lab_end
