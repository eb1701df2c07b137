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

# print_failures FILE: repeats the issues that a test run's output contains, so that they are at its end.
print_failures() {
  printf '%s: the failures:\n' "$script" >&2
  grep --after-context 5 '^✘' "$1" | grep -E '^(✘|↳)' | head -n 100 >&2 || true
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

remove_test_folder() {
  unset TMPDIR
  rm -rf "$test_folder"
}

# duration SECONDS: prints it as minutes and seconds.
duration() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }
