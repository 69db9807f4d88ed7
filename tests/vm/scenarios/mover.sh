# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 1 --mem 384
# kernels: 6.1 6.12
# programs: tests/test_nodes tests/test_masks tests/test_mover
# The unit tests of the acting half, on two nodes and under cpusets.

for program in test_nodes test_masks test_mover; do
	"$program" || not_ok "$program" "exit status $?"
done
lab_end
