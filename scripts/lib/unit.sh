# shellcheck shell=bash
# shellcheck disable=SC2154 # variables come from common.sh
# Checks a server's unit for systemd. Source it after common.sh, call check_unit, and call
# remove_unit_test in the trap for EXIT.

unit_test='' unit_test_cgroup='' unit_test_id=''

# Ends the systemd that check_unit has started.
remove_unit_test() {
  [[ ! $unit_test_id ]] || kill -KILL "$unit_test_id" 2>/dev/null || true
  [[ ! $unit_test_id ]] || wait "$unit_test_id" 2>/dev/null || true
  local try
  for ((try = 0; try < 100; try++)); do
    [[ -d $unit_test_cgroup ]] || break
    find "$unit_test_cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
  done
  [[ ! $unit_test ]] || rm -rf "$unit_test"
  unit_test='' unit_test_cgroup='' unit_test_id=''
}

# check_unit UNIT PROGRAM PATH BODY: checks that the file UNIT is valid and starts PROGRAM, which
# must be a program at /usr/local/bin in the unit.
#
# Then it runs the unit. A separate systemd, as process 1 of its own namespaces, applies all
# settings: the user, the state folder and the sandbox. The machine's files are read-only there. A
# client writes BODY to the element at PATH. The element must still be there after a restart and
# after a kill. Only root can run the unit. If it cannot run, a message says so.
check_unit() {
  local name program
  name=$(basename "$1" .service)
  program=$(sed -n 's|^ExecStart=/usr/local/bin/\([^ ]*\) .*|\1|p' "$1")
  [[ $program == "$name" ]] || die 1 "$name.service does not start /usr/local/bin/$name"
  ensure_commands systemd:systemd-analyze iproute2:ip curl:curl jq:jq
  unit_test=$(mktemp -d)
  chmod 755 "$unit_test"
  mkdir "$unit_test/bin" "$unit_test/units" "$unit_test/verified"
  cp "$2" "$unit_test/bin/$name"
  sed "s|^ExecStart=/usr/local/bin/|ExecStart=$unit_test/bin/|" "$1" >"$unit_test/verified/$name.service"
  # Without recursion, because faults of the machine's other units do not count.
  if ! systemd-analyze verify --recursive-errors=no "$unit_test/verified/$name.service" 2>"$unit_test/faults" ||
    grep -qF "$name.service" "$unit_test/faults"; then
    die 1 "$name.service: $(<"$unit_test/faults")"
  fi
  cp "$1" "$unit_test/units/$name.service"
  if start_systemd "$name"; then
    run_unit "$name" "$3" "$4"
  else
    say "$name.service is valid. It has not run, because a separate systemd cannot start here"
  fi
  remove_unit_test
}

# start_systemd NAME: starts systemd with the unit. Fails if this machine does not allow that.
start_systemd() {
  local groups target
  groups=$(findmnt -rn -t cgroup2 -o TARGET | head -1)
  ((EUID == 0)) && [[ $groups && -w $groups ]] || return 1
  unshare --mount --pid --net --ipc --uts --cgroup --fork true 2>/dev/null || return 1
  # Only these targets, and none of the machine's units.
  for target in sysinit basic network-online shutdown; do
    printf '[Unit]\nDefaultDependencies=no\n' >"$unit_test/units/$target.target"
  done
  printf '[Unit]\nDefaultDependencies=no\nWants=%s.service\n' "$1" >"$unit_test/units/unit-test.target"
  mkdir "$unit_test/units/$1.service.d"
  printf '[Service]\nStandardOutput=append:/run/log\nStandardError=append:/run/log\n' \
    >"$unit_test/units/$1.service.d/log.conf"
  cat >"$unit_test/init" <<'END'
set -e
mount --make-rprivate /
mount --bind "$1/bin" /usr/local/bin
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system
cp -r "$1/units/." /run/systemd/system
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount -o remount,bind,ro /
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t proc proc /proc
mount --bind -o ro /proc/sys /proc/sys
ip link set lo up
exec env -i PATH="$PATH" container=unit-test SYSTEMD_UNIT_PATH=/run/systemd/system \
  SYSTEMD_GENERATOR_PATH=/nowhere SYSTEMD_LOG_TARGET=console \
  /lib/systemd/systemd --system --unit=unit-test.target --show-status=no
END
  unit_test_cgroup=$groups/lockstep-unit-test-$$
  mkdir "$unit_test_cgroup" || return 1
  # A separate shell enters the group and starts systemd there.
  # shellcheck disable=SC2016 # that shell expands it, not this one
  bash -c 'echo $$ >"$1/cgroup.procs" && exec unshare --mount --pid --net --ipc --uts --cgroup --fork \
    --kill-child=KILL bash "$2/init" "$2"' - "$unit_test_cgroup" "$unit_test" >"$unit_test/console" 2>&1 &
  unit_test_id=$!
  local try
  for ((try = 0; try < 600; try++)); do
    if inside systemctl show --property Version >/dev/null 2>&1; then return; fi
    kill -0 "$unit_test_id" 2>/dev/null || break
    sleep 0.1
  done
  say "systemd does not start here: $(<"$unit_test/console")"
  return 1
}

# inside COMMAND…: runs a command in the namespaces of the systemd that check_unit has started.
inside() {
  local init
  init=$(cat "/proc/$unit_test_id/task/$unit_test_id/children")
  nsenter --target "${init%% *}" --mount --pid --net --ipc --uts --cgroup "$@"
}

# property NAME PROPERTY: prints a property of the unit.
property() { inside systemctl show --property "$2" --value "$1.service"; }

# unit_failure NAME MESSAGE: exits, and prints what systemd and the server say.
unit_failure() {
  inside systemctl status --no-pager --full "$1.service" >&2 || true
  inside cat /run/log >&2 || true
  cat "$unit_test/console" >&2
  die 1 "$1.service: $2"
}

# until_ready NAME PROCESS: waits until the server is ready in another process than PROCESS.
until_ready() {
  local try
  for ((try = 0; try < 600; try++)); do
    if [[ $(property "$1" MainPID 2>/dev/null) != "$2" ]] &&
      inside curl -sf -m 5 -o /dev/null http://127.0.0.1:8080/readyz 2>/dev/null; then
      return
    fi
    kill -0 "$unit_test_id" 2>/dev/null || die 1 "systemd has ended: $(<"$unit_test/console")"
    sleep 0.1
  done
  unit_failure "$1" "the server is not ready after a minute"
}

# run_unit NAME PATH BODY
run_unit() {
  local name=$1 url=http://127.0.0.1:8080 id status token element field
  until_ready "$name" 0
  id=$(property "$name" MainPID)
  status=$(inside cat "/proc/$id/status")
  for field in "CapEff:"$'\t'"0000000000000000" "CapBnd:"$'\t'"0000000000000000" "NoNewPrivs:"$'\t'"1" \
    "Seccomp:"$'\t'"2"; do
    grep -qxF "$field" <<<"$status" || unit_failure "$name" "the process does not have '$field'"
  done
  ! grep -q $'^Uid:\t0\t' <<<"$status" || unit_failure "$name" "the process runs as root"
  token=$(inside curl -sf "$url/v1/users" -d '{"email":"ada@example.com","password":"correct horse"}' | jq -r .token)
  inside curl -sf -X PUT -H "Authorization: Bearer $token" "$url/v1/$2" -d "$3" >"$unit_test/written" ||
    unit_failure "$name" "the server does not store an element"
  # Only the server's own user can read the folder and the files.
  [[ $(inside find "/var/lib/private/$name/" -perm /077) == "" ]] ||
    unit_failure "$name" "other users may read the store: $(inside ls -la "/var/lib/private/$name/")"
  [[ $(inside find "/var/lib/private/$name/" -name "$name.db") ]] ||
    unit_failure "$name" "the store is not /var/lib/$name/$name.db"
  inside systemctl restart "$name.service" || unit_failure "$name" "the server does not restart"
  until_ready "$name" "$id"
  id=$(property "$name" MainPID)
  inside kill -KILL "$id"
  until_ready "$name" "$id"
  element=$(inside curl -sf -H "Authorization: Bearer $token" "$url/v1/$2")
  [[ $element == "$(<"$unit_test/written")" ]] || unit_failure "$name" "the element is gone: $element"
  inside systemctl stop "$name.service"
  [[ $(property "$name" Result) == success ]] || unit_failure "$name" "the server does not stop"
  say "$name.service runs with its settings"
}
