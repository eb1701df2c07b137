# shellcheck shell=bash
# For the scripts in this folder: runs their parts.

# Prints the help of a script that is called with --help.
answer_help() { [[ ${1:-} != --help ]] || { help && exit; }; }

# part COMMAND…: runs the command and prints its duration.
part() {
  local start=$SECONDS code=0
  "$@" || code=$?
  echo "==> $*: $((SECONDS - start)) s" >&2
  return "$code"
}

# with_pypi COMMAND…: runs a script that installs its tools from PyPI. Exit code 69 means that PyPI is not available.
with_pypi() {
  local code=0
  part "$@" || code=$?
  if ((code == 69)); then
    echo "==> $1: SKIPPED, because PyPI is not available here" >&2
  elif ((code)); then
    exit "$code"
  fi
}
