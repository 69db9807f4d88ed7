# SPDX-License-Identifier: MIT
# lab: --nodes 2 --cpus 1 --mem 640
# programs: numabalanced numabalancectl
# tools: bash script
# files: demo/run demo/show.sh tests/vm/inside/json.awk
# The demo on a machine of several nodes: a dry run, and it acts only after a yes on a terminal.

mkdir -p /tree/build/tests/vm /tmp/mine /dev/pts
mount -t devpts devpts /dev/pts
for program in numabalanced numabalancectl; do ln -s /lab/bin/$program /tree/build/$program; done
ln -s /lab/bin/workload /tree/build/tests/vm/workload
export TMPDIR=/tmp/mine TERM=xterm
demo="bash /tree/demo/run"
left() { ls -A /tmp/mine; ps | grep -E '[n]umademo|[n]umabalanced'; }
says() { if grep -q "$2" /tmp/out; then ok "$1"; else not_ok "$1" "$(tail -n 3 /tmp/out)"; fi; }

part=alone
$demo </dev/null >/tmp/out 2>&1
expect status "$? == 0"
says plans 'A dry run first'
says asks-nobody 'Nothing was changed: there is no terminal'
check nothing-left test -z "$(left)"

part=no
echo n | script -qec "$demo" /dev/null >/tmp/out 2>&1
says asks 'Do that?'
says changes-nothing 'Nothing was changed\.'
check nothing-left test -z "$(left)"

part=yes
{ sleep 8; echo y; sleep 60; } | script -qec "$demo" /dev/null >/tmp/out 2>&1 &
screen=$!
wait_until 80 grep -q 'Stopped: the processes' /tmp/out
says puts-back 'Stopped: the processes may use every CPU again'
says all-local '100 %'
wait "$screen"
check nothing-left test -z "$(left)"
sed 's/^/# /' /tmp/out
lab_end
