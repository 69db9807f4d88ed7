# SPDX-License-Identifier: MIT
# lab: --nodes 4 --cpus 2 --mem 768 --timeout 300
# programs: numabalanced numabalancectl
# Processes that are wider than a node gain little or nothing from a move: 0.5 is the best
# for two that need two nodes each, 0.25 for one that needs all four. No harm is done.

no_harm() {
	expect no-worse "$(summary last_third) >= $1 - 0.12"
	expect few-pages-move "$moved <= $2 * 256 * 0.1"
}

part=2x4
balance_run 18 --procs 2 --threads 4 --mb 256 --place 1+0,3+2 --run 0+1,2+3
no_harm 0.5 512

part=1x8
balance_run 18 --procs 1 --threads 8 --mb 400 --place 0+1+2+3 --run 0+1+2+3
no_harm 0.25 400
lab_end
