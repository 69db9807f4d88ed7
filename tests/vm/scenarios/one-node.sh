# SPDX-License-Identifier: MIT
# lab: --nodes 1 --cpus 2 --mem 512
# programs: numabalanced numabalancectl
# Nothing to balance between: one line that says so, and the daemon idles.

start_daemon
check answers daemon_answers
status=$(ctl status)
check idle test "$(echo "$status" | json_get .mode)" = idle
case $(echo "$status" | json_get .why) in
*"one node"*) ok says-why ;;
*) not_ok says-why "$(echo "$status" | json_get .why)" ;;
esac
sleep 5
expect one-line "$(grep -c 'one node' /tmp/daemon.log) == 1"
end_daemon
expect exit-status "$daemon_status == 0"
show_daemon
lab_end
