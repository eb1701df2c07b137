# shellcheck shell=bash
# shellcheck disable=SC2154 # script comes from common.sh
# For scripts that run the tests: a folder of the run's own for temporary files, and the time that it took.

# Tests put their temporary folders into this one. Each test must remove its own. Some tests run a
# program as a user without rights, which must be able to enter it.
prepare_test_folder() {
  test_folder=$(mktemp -d)
  chmod 755 "$test_folder"
  export TMPDIR=$test_folder
}

# run_within SECONDS FILE COMMAND…: runs a command that runs tests, and copies its output to a file. If the tests do not
# end in time, it ends them, names those that did not end, and returns 124. A test's own time limit only cancels its
# task. A test that ignores that, or blocks its thread, would keep the run forever.
run_within() {
  local code=0
  # Line by line, so that the file has all lines of a run that is ended.
  stdbuf -oL timeout --kill-after 10 "$1" "${@:3}" | tee "$2" || code=$?
  if ((code == 124 || code == 137)); then
    printf '%s: ended after %d s. These tests did not end:\n' "$script" "$1" >&2
    unfinished_tests "$2" | head -n 20 >&2
    return 124
  fi
  return "$code"
}

# unfinished_tests FILE: prints the tests that began and did not end, according to a test run's output.
unfinished_tests() {
  comm -23 <(sed -nE 's/^◇ Test (.+) started\.$/\1/p' "$1" | grep -avE '^(case passing .*|run)$' | sort) \
    <(sed -nE 's/^[^ ]+ Test (.+) (passed|failed|skipped).*$/\1/p' "$1" | sed -E 's/ with [0-9]+ test cases?$//' | sort)
}

# print_failures FILE: repeats the issues that a test run's output contains, so that they are at its end. If the process
# of the tests crashed or was killed, names the tests that did not end.
print_failures() {
  if ! grep -aqE '^[^ ]+ Test run with [0-9]+ tests? ' "$1"; then
    printf '%s: the process of the tests crashed or was killed. At most 40 tests that it had not ended:\n' "$script" >&2
    unfinished_tests "$1" | head -n 40 >&2
  fi
  printf '%s: the failures:\n' "$script" >&2
  # A failed comparison has many lines, up to the next line of another test.
  awk '/^(◇|✔)/ { shown = 0 } /^✘/ { shown = 40 } shown > 0 { print; shown-- }' "$1" | head -n 200 >&2
  printf '%s: the seeds of all tests with random numbers:\n' "$script" >&2
  grep -a 'LOCKSTEP_TEST_SEED=' "$1" >&2 || true
}

# Fails if the tests left folders behind, and names the first ones and what is in them.
check_test_folder() {
  local left
  left=$(find "$test_folder" -mindepth 1 -maxdepth 1 -name 'lockstep-*' | sort)
  [[ $left ]] || return 0
  printf '%s: the tests left %d temporary folders, for example:\n' "$script" "$(wc -l <<<"$left")" >&2
  head -n 3 <<<"$left" | while read -r folder; do ls -la "$folder"; done >&2
  return 1
}

# Also ends the servers that a crash of the tests' process has left. Their command lines have the folder's name.
remove_test_folder() {
  local file files
  mapfile -t files < <(grep -lasF "$test_folder/" /proc/[0-9]*/cmdline)
  for file in "${files[@]}"; do
    file=${file%/cmdline}
    kill "${file##*/}" 2>/dev/null || true
  done
  unset TMPDIR
  rm -rf "$test_folder"
}

# duration SECONDS: prints it as minutes and seconds.
duration() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }
