# SPDX-License-Identifier: MIT
# demo/show.sh: what the demo shows, in any shell, on any machine of several nodes: in the
# lab's guest, or here. It starts processes that run on other nodes than their memory, lets
# the daemon put them right, and stops both. The daemon acts on these processes alone.
#
# Wants in PATH: numabalanced, numabalancectl, numademo (the workload of the lab's tests).
# DEMO_JSON   the awk program that flattens JSON
# Lines that begin with "live " replace each other on a terminal, "== " is a heading; the
# rest is text (demo/run draws them).
set -u
mb=200
# Seconds for which the processes hold their threads and memory where they are. Then the daemon
# is there; the kernel's scheduler would sometimes put a few right by luck before.
held=7
patience=90 # seconds until the demo gives up; an emulated machine on a busy one is slow
tmp=$(mktemp -d)
daemon= work=

stop_all() {
	trap '' INT TERM HUP
	for pid in $daemon $work; do
		kill "$pid" 2>/dev/null
	done
	wait
	rm -rf "$tmp"
}
trap stop_all EXIT
trap 'exit 130' INT TERM HUP
give_up() {
	echo "demo: $1"
	[ ! -s "$tmp/daemon.log" ] || sed 's/^/  /' "$tmp/daemon.log"
	exit 1
}
# ask COMMAND…: the daemon's answer, one PATH=VALUE a line; value PATH takes one of them.
ask() { numabalancectl --socket "$tmp/run/socket" --json "$@" 2>/dev/null | awk -f "$DEMO_JSON"; }
value() { awk -v path="$1=" 'index($0, path) == 1 { print substr($0, length(path) + 1); exit }' "$tmp/answer"; }
now() { cut -d' ' -f1 /proc/uptime; }
since() { awk -v now="$(now)" -v then="$1" 'BEGIN { printf "%.1f", now - then }'; }
pages_moved() { awk '$1 == "pgmigrate_success" { print $2 }' /proc/vmstat; }
# Hundredths of a second of CPU time that a process used.
cpu_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }'; }
masks() { for pid in $pids; do grep -h '^Cpus_allowed_list' "/proc/$pid"/task/*/status; done; }
local_share() {
	grep "^sample.* proc=$1 local=[0-9]" "$tmp/work.log" | tail -n 1 | sed 's/.* local=\([0-9.]*\).*/\1/' |
		awk '{ printf "%.0f", $1 * 100 }'
}

# The node of the thread that used the most CPU time.
runs_on() {
	for task in /proc/"$1"/task/*; do
		echo "$(cut -d' ' -f1 "$task/schedstat") $(sed 's/.*) //' "$task/stat" | cut -d' ' -f37)"
	done 2>/dev/null | sort -n | tail -n 1 | while read -r _ cpu; do
		for node in /sys/devices/system/node/node[0-9]*; do
			[ ! -e "$node/cpu$cpu" ] || echo "${node##*/node}"
		done
	done
}
# "node 1: 200M" of every node with two mebibytes or more.
memory_on() {
	awk '{ size = 4; for (i = 1; i <= NF; i++) if ($i ~ /^kernelpagesize_kB=/) size = substr($i, 19)
		for (i = 1; i <= NF; i++) if ($i ~ /^N[0-9]+=/) {
			split(substr($i, 2), part, "="); kb[part[1] + 0] += part[2] * size
			if (part[1] + 0 > last) last = part[1] + 0 } }
		END { for (n = 0; n <= last; n++) if (kb[n] >= 2048) {
			printf "%snode %d: %dM", sep, n, kb[n] / 1024; sep = ", " } }' "/proc/$1/numa_maps" 2>/dev/null
}
table() {
	echo "  PROCESS     RUNS ON  ITS ACCESSES ARE LOCAL  ITS MEMORY"
	i=0
	for pid in $pids; do
		printf '  %-10s  node %-2s  %20s %%  %s\n' "$(cat "/proc/$pid/comm")" "$(runs_on "$pid")" "$(local_share $i)" "$(memory_on "$pid")"
		i=$((i + 1))
	done
}

# --- the nodes ----------------------------------------------------------------
nodes=
for dir in $(ls -d /sys/devices/system/node/node[0-9]* | sort -V); do
	free=$(awk '/MemFree/ { print int($4 / 1024) }' "$dir/meminfo")
	[ -n "$(cat "$dir/cpulist")" ] && [ "$free" -ge $((mb + 80)) ] || continue
	nodes="$nodes ${dir##*node}"
	[ "$(echo "$nodes" | wc -w)" -lt 4 ] || break
done
n=$(echo "$nodes" | wc -w)
[ "$n" -ge 2 ] || give_up "it wants two nodes with CPUs and $((mb + 80))M of free memory each"
run=$(echo $nodes | tr ' ' ,)
place=$(echo ${nodes#* *[0-9] } $(echo $nodes | cut -d' ' -f1) | tr ' ' ,)
echo "== $n processes with ${mb}M of memory each; none runs where its memory is"
[ "$(cat /proc/sys/kernel/numa_balancing 2>/dev/null || echo 0)" = 0 ] ||
	echo "(the kernel's own NUMA balancing is on here, so that it works on them too)"

# --- before -------------------------------------------------------------------
numademo --procs "$n" --mb "$mb" --place "$place" --run "$run" --duration 300 \
	--release-after "$held" --ready "$tmp/ready" \
	>"$tmp/work.log" 2>&1 &
work=$!
for i in $(seq 600); do
	[ ! -e "$tmp/ready" ] || break
	kill -0 "$work" 2>/dev/null || give_up "the processes did not start: $(tail -n 1 "$tmp/work.log")"
	sleep 0.1
done
[ -e "$tmp/ready" ] || give_up "the processes did not start in a minute"
pids=$(cat "$tmp/ready")
sleep 2
table

# --- the daemon ---------------------------------------------------------------
mkdir "$tmp/run"
cat >"$tmp/demo.conf" <<'CONF'
[group demo]
match_comm = numademo-*
[group others]
match_comm = *
action = observe
CONF
echo "== numabalanced starts; then the processes are free to run anywhere"
base=$(pages_moved)
began=$(now)
numabalanced --config "$tmp/demo.conf" --socket "$tmp/run/socket" --state-dir "$tmp/run" >"$tmp/daemon.log" 2>&1 &
daemon=$!
good=0 start_cpu=
while [ "$good" -lt 3 ]; do
	sleep 1
	[ -n "$start_cpu" ] || ! grep -q balancing "$tmp/daemon.log" || start_cpu=$(cpu_time "$daemon")
	kill -0 "$daemon" 2>/dev/null || give_up "numabalanced ended"
	# One program a line: four busy CPUs have little time left for onlookers.
	set -- $(tail -n 20 "$tmp/work.log" | awk -v began="$began" -v base="$base" '
		FILENAME == "/proc/uptime" { took = $1 - began }
		$1 == "pgmigrate_success" { pages = $2 - base }
		/^sample.* proc=all local=[0-9]/ { split($0, part, "local="); share = part[2] * 100 }
		END { printf "%.1f %d %d\n", took, share, pages }' /proc/uptime /proc/vmstat -)
	took=$1 share=$2
	echo "live $took $share $3"
	if [ "$share" -ge 95 ]; then good=$((good + 1)); else good=0; fi
	[ "${took%.*}" -lt "$patience" ] || give_up "only $share % local after $patience s"
done

# --- after --------------------------------------------------------------------
cpu=$(cpu_time "$daemon")
pages=$(($(pages_moved) - base))
took=$(since "$began")
echo "== After $took s"
table
ask status >"$tmp/answer"
echo "== What was moved, and what it cost"
sed -n 's/^numabalanced: moved [0-9]* "\(numademo-[0-9]*\)" \(.*\), gain .*/  \1 \2/p' "$tmp/daemon.log" | head -n 8
printf '  moves: %s, exchanges: %s; %s of %s pages had to move\n' \
	"$(value .totals.moves)" "$(value .totals.swaps)" "$pages" $((n * mb * 256))
awk -v c="$cpu" -v t="$took" -v s="${start_cpu:-0}" 'BEGIN {
	printf "  numabalanced used %.2f s of CPU time in %.1f s, %.2f s of that to start\n", c / 100, t, s / 100 }'
kill -TERM "$daemon"
wait "$daemon"
status=$?
daemon=
[ "$status" = 0 ] || give_up "numabalanced ended with status $status"
# As their parent, that nobody touches.
wanted=$(grep '^Cpus_allowed_list' "/proc/$work/status")
[ "$(masks | sort -u)" = "$wanted" ] || give_up "the processes may not use all of their CPUs: $(masks | tr '\n' ' ')"
echo "  Stopped: the processes may use every CPU again."
