# shellcheck shell=bash
# shellcheck disable=SC2154 # root comes from common.sh
# How many lines the tests run through: gathered from them and the servers they start, summed up by coverage.py.

# prepare_coverage SCRATCH_FOLDER: what the tests' own process writes is gathered by SwiftPM. Processes that it starts write
# a file each where SwiftPM doesn't look: it would fail for one that was killed while it wrote.
prepare_coverage() {
  children=$root/$1/children
  rm -rf "$children"
  mkdir -p "$children"
  export CHILD_PROFILE_FILE=$children/%p.profraw
}

# report_coverage SCRATCH_FOLDER [OPTION…]: prints the report; fails where a room is below its limit, and no reason given.
report_coverage() {
  local scratch=$1 tools products
  shift
  tools=$(dirname "$(realpath "$(command -v swift)")")
  products=$(swift build --show-bin-path --scratch-path "$scratch")
  # What such a process left is passed over.
  find "$children" -name '*.profraw' -size +0 |
    "$tools/llvm-profdata" merge --sparse --failure-mode=all --input-files=- -o "$scratch/all.profdata" \
      "$products/codecov/default.profdata" || return
  "$tools/llvm-cov" export --summary-only --instr-profile "$scratch/all.profdata" "$products"/*.xctest |
    python3 "$root/scripts/lib/coverage.py" --reasons "$root/scripts/lib/coverage-reasons.txt" "$@"
}
