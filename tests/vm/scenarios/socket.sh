# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 1 --mem 384
# programs: numabalanced numabalancectl
# One daemon at a time; what a killed one left behind is in nobody's way.

start_daemon
check answers daemon_answers
timeout 10 numabalanced >/tmp/second.log 2>&1
expect second-is-refused "$? == 1"
if grep -q 'already running' /tmp/second.log; then ok second-says-why; else not_ok second-says-why "$(cat /tmp/second.log)"; fi
check first-goes-on ctl status >/dev/null
end_daemon KILL 2>/dev/null
check stale-socket-is-there test -S "$lab_socket"
start_daemon
check stale-socket-is-replaced daemon_answers
end_daemon
expect exit-status "$daemon_status == 0"
check socket-is-gone test ! -e "$lab_socket"

echo precious >/tmp/file
timeout 10 numabalanced --socket /tmp/file >/tmp/second.log 2>&1
expect file-is-refused "$? == 1"
check file-stays test "$(cat /tmp/file)" = precious
lab_end
