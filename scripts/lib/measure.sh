# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables come from common.sh and servers.sh, and go to the script that sources this
# Measurements and their medians. Source it after servers.sh.

touch "$work/measurements"

# note CASE SIDE NAME VALUE: records a measurement.
note() { printf '%s %s %s %s\n' "$@" >>"$work/measurements"; }

median() { # CASE SIDE NAME
  awk -v key="$1 $2 $3" '$1 " " $2 " " $3 == key { print $4 }' "$work/measurements" | sort -g |
    awk '{ all[NR] = $1 } END { print (all[int((NR + 1) / 2)] + all[int((NR + 2) / 2)]) / 2 }'
}

# load SIDE SECONDS WRK_ARGUMENT…: runs wrk with one thread. Sets requests (how many), rate, p50 and
# p99 (ms), cpu (the side's, µs per request) and failures (how many requests failed).
load() {
  local side=$1 seconds=$2 before after
  before=$(cpu_microseconds "$side")
  # In the background, so that stop_all also ends it.
  wrk -t1 -c"$connections" -d"${seconds}s" "${@:3}" >"$work/wrk.out" &
  pid[wrk]=$!
  wait "${pid[wrk]}"
  unset "pid[wrk]"
  after=$(cpu_microseconds "$side")
  read -r requests rate p50 p99 cpu failures < <(awk -v cpu=$((after - before)) '
    $1 == "RESULT" { printf "%d %.0f %.3f %.3f %.2f %d\n", $2, $2 * 1e6 / $3, $4 / 1e3, $5 / 1e3, cpu / $2, $6 }
  ' "$work/wrk.out")
}

# note_load CASE SIDE: records the values that load has set.
note_load() {
  printf '    %-9s %8d requests a second, %6.2f µs of CPU each\n' "$2" "$rate" "$cpu" >&2
  ((failures == 0)) || say "$failures requests to $2 FAILED: its figures are not valid"
  note "$1" "$2" rate "$rate"
  note "$1" "$2" p50 "$p50"
  note "$1" "$2" p99 "$p99"
  note "$1" "$2" cpu "$cpu"
}

# row LABEL CASE NAME UNITS FORMAT [ratio|value RELATION TARGET]: prints a row that compares the
# medians of lockstep and nginx, divided by UNITS.
row() { compare_medians "$1" "$2 lockstep $3" "$2 nginx $3" "$4" "$5" "${@:6}"; }

# compare_medians LABEL OURS THEIRS UNITS FORMAT [ratio|value RELATION TARGET]: the same for any two
# medians, each given as "CASE SIDE NAME". THEIRS is - if there is no peer.
compare_medians() {
  local ours theirs=-
  # shellcheck disable=SC2086 # three words
  ours=$(median $2)
  # shellcheck disable=SC2086
  [[ $3 == - ]] || theirs=$(median $3)
  awk -v label="$1" -v ours="$ours" -v theirs="$theirs" -v units="$4" -v format="$5" -v judged="${6:-}" \
    -v relation="${7:-}" -v target="${8:-}" '
    BEGIN {
      ratio = theirs > 0 ? ours / theirs : 0
      figure = judged == "ratio" ? ratio : ours / units
      met = relation == "≥" ? figure >= target : figure <= target
      verdict = judged == "" ? "" : met ? "reached" : "missed"
      printf "| %s | %s | %s | %s | %s | %s |\n", label, sprintf(format, ours / units),
        theirs == "-" ? "" : sprintf(format, theirs / units), theirs == "-" ? "" : sprintf(ratio < 0.1 ? "%.2g" : "%.2f", ratio),
        judged == "" ? "" : relation " " target (judged == "ratio" ? " ×" : ""), verdict
    }'
}

# Prints the machine and the versions.
machine() {
  printf '%s × %s, Linux %s, %s' "$(nproc)" "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1)" "$(uname -r)" \
    "$("$server" --version)"
}

# build_populate: builds $work/populate, which fills a store with users.
build_populate() {
  clang -O2 -o "$work/populate" -I"$root/Sources" "$root/scripts/lib/populate.c" -lsqlite3 -lsodium
}

# make_store NAME USERS VALUES: makes the store $work/NAME.db with this many users and values for
# each user. The users' tokens go to $work/NAME.tokens.
make_store() {
  store=$work/$1.db
  rm -f "$store"*
  run_once lockstep
  "$work/populate" "$store" "$2" "$3" >"$work/$1.tokens"
}
