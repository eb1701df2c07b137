# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for the scripts that source this
# What the scripts share: where the project is, how they talk, and how they get what they need.

root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
script=$(realpath --relative-to="$root" "$0")

# What the build links, as Debian calls the package, and the header that shows that it's there.
build_packages=(
  libcurl4-openssl-dev:curl/curl.h
  libsodium-dev:sodium.h
  libsqlite3-dev:sqlite3.h
  zlib1g-dev:zlib.h
)

# Progress goes to stderr: stdout belongs to what the script is for.
say() { printf '==> %s\n' "$*" >&2; }

# die EXIT_CODE MESSAGE; codes as in sysexits.h: 64 usage, 69 something needed isn't there.
die() {
  printf '%s: %s\n' "$script" "$2" >&2
  exit "$1"
}

unknown_option() { die 64 "unknown option '$1'; see $script --help"; }

# value_after OPTION [VALUE…]: prints the value, or exits when there is none.
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

# Makes sure that a build can begin. Does nothing, and needs no network, when all is there.
ensure_build_tools() {
  command -v swift >/dev/null || die 69 "there is no swift on the PATH; get Swift 6.3: https://www.swift.org/install/linux/"
  local missing=() entry
  for entry in "${build_packages[@]}"; do
    # Debian keeps what differs between machines in a folder for each kind of them.
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

# install_packages [PACKAGE…]: installs them through apt, or says what to install and exits.
install_packages() {
  (($#)) || return 0
  local as_root=(env)
  ((EUID == 0)) || as_root=(sudo env)
  if ! command -v apt-get >/dev/null || ! command -v "${as_root[0]}" >/dev/null; then
    die 69 "please install these packages (named as Debian does) and try again: $*"
  fi
  say "Installing $* (apt)"
  if ! "${as_root[@]}" apt-get update -q >&2 ||
    ! "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >&2; then
    die 69 "apt couldn't install them; please install these packages and try again: $*"
  fi
}

# How a server that is shipped is built; the Dockerfile says the same.
#
# Without the runtime's checks for overlapping access: they take a twentieth of the time of a request. What they look
# for depends on the code's path and not on the data, and every test runs with them. Checks of bounds and overflow stay.
release_flags=(-c release --product lockstep --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked)

# Builds the server as it is shipped. The compiler's words go to stderr; the path of the binary is in $server then.
build_server() {
  local flags=(--package-path "$root" "${release_flags[@]}")
  say "Building a release (the first time takes a few minutes)"
  swift build "${flags[@]}" >&2
  server=$(swift build "${flags[@]}" --show-bin-path)/lockstep
}
