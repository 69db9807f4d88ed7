# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 1 --mem 512
# programs: numabalanced numabalancectl
# tools: setpriv
# Without capabilities the daemon looks on and says what it lacks.

start_workload --procs 2 --mb 128 --place 1,0 --run 0,1 --duration 60
masks $workload_pids | grep cpus= >/tmp/masks.bound
base=$(counter pgmigrate_success)
# The shell would take its own.
drop="/lab/bin/setpriv --bounding-set=-all --inh-caps=-all"
try() {
	name=$1
	shift
	lab_socket=/tmp/$name/control.sock
	"$@" numabalanced --socket "$lab_socket" --state-dir "/tmp/$name" >/tmp/daemon.log 2>&1 &
	daemon=$!
	check "$name-answers" daemon_answers
	sleep 5
	status=$(ctl status)
	check "$name-observes" test "$(echo "$status" | json_get .mode)" = observe_only
	case $(echo "$status" | json_get .why) in
	*CAP_SYS_NICE*) ok "$name-says-why" ;;
	*) not_ok "$name-says-why" "$(echo "$status" | json_get .why)" ;;
	esac
	expect "$name-one-line" "$(grep -c CAP_SYS_NICE /tmp/daemon.log) == 1"
	end_daemon
	expect "$name-exit-status" "$daemon_status == 0"
	show_daemon
}
for name in root nobody; do
	mkdir "/tmp/$name"
	chown "$name" "/tmp/$name"
done
try root $drop
try nobody $drop --reuid=65534 --regid=65534 --clear-groups
expect pages-stay "$(counter pgmigrate_success) - $base <= 64"
expect masks-stay "$(masks $workload_pids | grep -c 'cpus=0-1$') == 2"
kill "$workload"
lab_end
