# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 2 --mem 768
# kernels: 6.1 6.12
# programs: numabalanced numabalancectl
# Masks are inherited: what is born of a held thread looks as if its owner had pinned it, and
# has to get its own mask back with the others.

lines() { masks $workload_pids $heirs | grep cpus=; }
held() { lines | grep -vc 'cpus=0-3$'; }
# One of the two may have come home by itself, and is not held then.
all_held() {
	n_held=$(held)
	[ "$n_held" = 4 ] || { [ "$n_held" -ge 2 ] && near "$(recent all)" 1; }
}
have_heirs() {
	heirs=$(pidof sleep)
	[ "$(echo "$heirs" | wc -w)" = 2 ]
}
# Two processes of two threads that are held, and then have a thread and a child more each.
run_one() {
	heirs=
	start_workload --procs 2 --threads 2 --mb 128 --place 1,0 --run 0,1 --duration 60 --spawn 15
	sleep 1
	start_daemon
	check holds wait_until 13 all_held
	check heirs wait_until 30 have_heirs
	sleep 4
	expect held-from-birth "$(lines | wc -l) == 8 && $(held) >= 2 * $n_held"
}

part=stop
run_one
end_daemon
expect exit-status "$daemon_status == 0"
expect puts-back "$(held) == 0"
lines | grep -v 'cpus=0-3$' | sed 's/^/# /'
kill "$workload" $heirs
wait "$workload"

part=killed
run_one
end_daemon KILL 2>/dev/null
numabalanced --restore 2>&1 | sed 's/^/# restore: /'
expect puts-back "$(held) == 0"
lines | grep -v 'cpus=0-3$' | sed 's/^/# /'
kill "$workload" $heirs
lab_end
