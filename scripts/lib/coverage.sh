# shellcheck shell=bash
# shellcheck disable=SC2154 # root comes from common.sh
# Collects the coverage of the tests and of the servers that they start; coverage.py prints it.

# prepare_coverage SCRATCH_FOLDER: SwiftPM collects the profile of the tests' own process. Child
# processes write theirs into another folder, because SwiftPM would fail on the incomplete file of a
# killed process.
prepare_coverage() {
  children=$root/$1/children
  rm -rf "$children"
  mkdir -p "$children"
  export CHILD_PROFILE_FILE=$children/%p.profraw
}

# report_coverage SCRATCH_FOLDER [OPTION…]: prints the report. Fails if a target is below the limit
# without a reason.
report_coverage() {
  local scratch=$1 tools products
  shift
  tools=$(dirname "$(realpath "$(command -v swift)")")
  products=$(swift build --show-bin-path --scratch-path "$scratch")
  # llvm-profdata ignores incomplete profiles of killed processes.
  find "$children" -name '*.profraw' -size +0 |
    "$tools/llvm-profdata" merge --sparse --failure-mode=all --input-files=- -o "$scratch/all.profdata" \
      "$products/codecov/default.profdata" || return
  "$tools/llvm-cov" export --summary-only --instr-profile "$scratch/all.profdata" "$products"/*.xctest |
    python3 "$root/scripts/lib/coverage.py" --reasons "$root/scripts/lib/coverage-reasons.txt" "$@"
}
