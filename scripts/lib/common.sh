# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for the scripts that source this
# Shared by all scripts: the project's folder, messages, options, packages and builds.

# The machine's locale must not change the order of sort, the decimal point, or which bytes are a
# character. Not every system has this locale.
if [[ $(LC_ALL=C.UTF-8 locale charmap 2>/dev/null) == UTF-8 ]]; then
  export LC_ALL=C.UTF-8
fi

root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
script=$(realpath --relative-to="$root" "$0")

# The libraries that the build links, or whose headers it uses: Debian's package, and a header whose
# presence shows that it is installed.
build_packages=(
  libcrypt-dev:crypt.h
  libcurl4-openssl-dev:curl/curl.h
  libpq-dev:postgresql/libpq-fe.h
  libsodium-dev:sodium.h
  libsqlite3-dev:sqlite3.h
  libssl-dev:openssl/evp.h
  zlib1g-dev:zlib.h
)

# Progress goes to stderr. Only results go to stdout.
say() { printf '==> %s\n' "$*" >&2; }

# die EXIT_CODE MESSAGE. The codes are those of sysexits.h: 64 for usage, 69 if something that the
# script needs is missing.
die() {
  printf '%s: %s\n' "$script" "$2" >&2
  exit "$1"
}

unknown_option() { die 64 "unknown option '$1'; see $script --help"; }

# value_after OPTION [VALUE…]: prints the value, or exits if there is none.
value_after() {
  [[ $# -ge 2 && -n $2 ]] || die 64 "$1 needs a value; see $script --help"
  printf '%s' "$2"
}

# number_after OPTION [VALUE…]: the same for a whole number of at least 1.
number_after() {
  local value
  value=$(value_after "$@")
  [[ $value =~ ^[1-9][0-9]*$ ]] || die 64 "$1 needs a whole number of at least 1, not '$value'"
  printf '%s' "$value"
}

# Installs missing build tools. If all are there, it needs no network.
ensure_build_tools() {
  command -v swift >/dev/null ||
    die 69 "swift is not on the PATH; install Swift 6.3: https://www.swift.org/install/linux/"
  local missing=() entry
  for entry in "${build_packages[@]}"; do
    # Debian keeps some headers in a folder for the processor's architecture.
    compgen -G "/usr/include/${entry#*:}" >/dev/null || compgen -G "/usr/include/*/${entry#*:}" >/dev/null ||
      missing+=("${entry%%:*}")
  done
  install_packages "${missing[@]}"
}

# ensure_commands PACKAGE:COMMAND…
ensure_commands() {
  local missing=() entry
  for entry in "$@"; do
    command -v "${entry#*:}" >/dev/null || missing+=("${entry%%:*}")
  done
  install_packages "${missing[@]}"
}

# install_packages [PACKAGE…]: installs them with apt. If that fails three times, it prints their
# names and exits.
install_packages() {
  (($#)) || return 0
  local as_root=(env) attempt
  ((EUID == 0)) || as_root=(sudo env)
  if ! command -v apt-get >/dev/null || ! command -v "${as_root[0]}" >/dev/null; then
    die 69 "install these packages (names as in Debian) and try again: $*"
  fi
  say "Installing $* (apt)"
  for attempt in 1 2 3; do
    # Another process, such as one for automatic updates, may hold apt's lock.
    if "${as_root[@]}" apt-get update -q -o DPkg::Lock::Timeout=300 >&2 &&
      "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o DPkg::Lock::Timeout=300 \
        --no-install-recommends "$@" >&2; then
      return
    fi
    ((attempt == 3)) || { say "apt failed; trying again" && sleep $((attempt * 10)); }
  done
  die 69 "apt failed; install these packages and try again: $*"
}

# pip_install VENV ARGUMENT…: installs packages from PyPI in a virtual environment. If pip fails or
# takes a quarter of an hour, it exits with 69.
pip_install() {
  timeout --foreground 900 "$1/bin/pip" install -q --disable-pip-version-check --retries 10 --timeout 30 "${@:2}" >&2 ||
    die 69 "pip cannot install the packages from PyPI"
}

# The flags of all builds for debugging. With other flags, everything is built again.
debug_flags=(--package-path "$root" --explicit-target-dependency-import-check error -Xswiftc -warnings-as-errors)

# build_for_debugging PRODUCT: builds it. The compiler's output goes to stderr. Sets product to the path of the binary.
product=
build_for_debugging() {
  ensure_build_tools
  swift build "${debug_flags[@]}" --product "$1" >&2
  product=$(swift build "${debug_flags[@]}" --show-bin-path)/$1
}

# The flags of a release build; keep the Dockerfile in step.
#
# The runtime's checks for overlapping access are off, because they take a twentieth of a request's
# time. Their result depends on the path through the code and not on data, and every test runs with
# them. Checks of bounds and overflow stay on.
release_flags=(-c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked)

# Makes a release build. The compiler's output goes to stderr. Sets server to the path of the
# binary. If the option --binary has set server, it only checks that this is a program.
server=
build_server() {
  if [[ $server ]]; then
    [[ -f $server && -x $server ]] || die 64 "'$server' is not a program"
    return
  fi
  build_release lockstep
  server=$product
}

# build_release PRODUCT: makes a release build of it. Sets product to the path of the binary.
build_release() {
  local flags=(--package-path "$root" "${release_flags[@]}" --product "$1")
  say "Building a release of $1 (the first time takes a few minutes)"
  swift build "${flags[@]}" >&2
  product=$(swift build "${flags[@]}" --show-bin-path)/$1
}

# build_benchmark TARGET: the same for the program in Benchmarks/<Target>. 'scripts/bench --smoke'
# needs no figures and builds it for debugging.
build_benchmark() {
  if [[ ${LOCKSTEP_SMOKE:-} ]]; then build_for_debugging "$1-benchmark"; else build_release "$1-benchmark"; fi
}
