# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh and scripts/package set the variables
# Tests the files of a release, which scripts/package has made in $output.

tested=0 service_id=''

# verify DESCRIPTION COMMAND…
verify() {
  "${@:2}" >"$work/verified" 2>&1 || die 1 "not true: $1"$'\n'"$(<"$work/verified")"
  tested=$((tested + 1))
  echo "ok - $1" >&2
}

test_release() {
  ((EUID == 0)) || die 69 "--test needs root, because it runs the files in chroots"
  ensure_commands curl:curl fish:fish groff-base:groff lintian:lintian mandoc:mandoc mmdebstrap:mmdebstrap \
    systemd:systemd-analyze zsh:zsh
  install_package_tools
  # The programs, which may run, are ended and the folders deleted, however the script ends.
  trap 'end_service; rm -rf "$work"' EXIT
  local debian_package=("$output"/lockstep_*.deb) archive=("$output"/lockstep-*.tar.gz) bill
  mkdir "$work/unpacked"
  dpkg-deb --extract "${debian_package[0]}" "$work/unpacked"
  test_texts "$work/unpacked/usr/share"
  [[ ! -e ${archive[0]} ]] || test_archive "${archive[0]}"
  for bill in "$output"/*.spdx.json; do
    verify "$(basename "$bill") is valid" "$root/.build/package-tools/bin/pyspdxtools" -i "$bill"
  done
  test_debian_package "${debian_package[0]}"
  say "$tested passed"
}

install_package_tools() {
  local wanted=$root/scripts/package.d/requirements.txt venv=$root/.build/package-tools
  cmp -s "$wanted" "$venv/requirements.txt" && return
  say "Installing spdx-tools (PyPI)"
  rm -rf "$venv"
  python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  python3 -m venv "$venv" >&2 || die 69 "python3 cannot make a virtual environment"
  "$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted" >&2 || die 69 "pip cannot install them"
  cp "$wanted" "$venv/"
}

# test_texts SHARE: tests the manual page and the completions in a folder like /usr/share.
test_texts() {
  gunzip -c "$1/man/man1/lockstep.1.gz" >"$work/lockstep.1"
  verify "mandoc has no fault to find in the manual page" mandoc -T lint -W warning "$work/lockstep.1"
  verify "groff formats the manual page without a warning" formats_without_warning "$work/lockstep.1"
  verify "bash completes a command" completes bash "$1/bash-completion/completions/lockstep"
  verify "zsh completes a command" completes zsh "$1/zsh/vendor-completions/_lockstep"
  verify "fish completes a command" completes fish "$1/fish/vendor_completions.d/lockstep.fish"
}

formats_without_warning() { [[ -z $(groff -man -ww -z -Tutf8 "$1" 2>&1 | tee /dev/stderr) ]]; }

# completes SHELL FILE: whether the shell completes 'lockstep ser' with the script in the file.
# shellcheck disable=SC2016 # the shells expand the texts
completes() {
  case $1 in
    bash)
      bash --norc -euc 'source "$1" && complete -p lockstep
        COMP_WORDS=(lockstep ser) COMP_CWORD=1 && _lockstep && printf "%s\n" "${COMPREPLY[@]}"' - "$2"
      ;;
    zsh)
      # The stand-in for zsh's own function prints the words that it would offer.
      zsh -f -c 'fpath=(${1:h} $fpath) && autoload -Uz compinit && compinit -D -u && print -r $_comps[lockstep]
        _describe() { print -rl -- ${${(M)${(P)2}:#ser*}%%:*} }
        words=(lockstep ser) CURRENT=2 && autoload -Uz _lockstep && _lockstep' - "$2"
      ;;
    fish) fish --no-config -c 'source $argv[1] && complete -C "lockstep ser"' "$2" ;;
  esac | tee /dev/stderr | cut -f1 | grep -qx serve
}

# test_archive FILE: tests that its program runs where there is nothing but glibc.
test_archive() {
  local folder=$work/alone program loader library
  mkdir -p "$folder/data" "$work/archive"
  tar -xzf "$1" -C "$work/archive" --strip-components 1
  program=$work/archive/bin/lockstep
  verify "the program needs no library but glibc" needs_only_glibc "$program"
  verify "the program has at most 20 MiB" has_at_most_bytes $((20 << 20)) "$program"
  loader=$(readelf -l "$program" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
  for library in "$loader" $(ldd "$program" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'); do
    install -D "$(realpath "$library")" "$folder$library"
  done
  install "$program" "$folder/lockstep"
  chown 65534:65534 "$folder/data"
  start_service "$folder" 65534 /lockstep LOCKSTEP_DATA=/data/lockstep.db
  verify "in a chroot with only glibc, the server stores an element" stores_element
  verify "the server exits with 0 on SIGTERM" end_service
}

needs_only_glibc() {
  readelf -d "$1"
  ! readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vxE 'lib(c|m)\.so\.6|ld-linux-.*\.so\.[0-9]' &&
    ! readelf -d "$1" | grep -E 'RPATH|RUNPATH'
}

has_at_most_bytes() { (($(stat -c %s "$2") <= $1)); }

# enter CHROOT USER COMMAND…: runs a command in the chroot, with /proc, from which a Swift program
# reads its arguments. The mount ends with the command. For a job in the background, the id of the
# job is that of the command.
enter() {
  # shellcheck disable=SC2016 # the new shell expands it
  exec unshare --mount sh -c 'mkdir -p "$1/proc" && mount -t proc proc "$1/proc" && user=$2 root=$1 && shift 2 &&
    exec chroot --userspec="$user" "$root" "$@"' - "$@"
}

# start_service CHROOT USER PROGRAM [VARIABLE=VALUE…]: starts the server in the chroot, on a free
# port. Sets service_url.
start_service() {
  : >"$work/service.out"
  (export "${@:4}" LOCKSTEP_PORT=0 && enter "$1" "$2" "$3" serve) >"$work/service.out" 2>"$work/service.log" &
  service_id=$!
  until grep -q listening "$work/service.out"; do
    kill -0 "$service_id" 2>/dev/null || die 1 "the server does not start: $(<"$work/service.log")"
    sleep 0.05
  done
  service_url=$(sed 's/.* //' "$work/service.out")
}

# Ends the server, if one runs. Fails if its exit code is not 0.
end_service() {
  local id=$service_id
  service_id=
  [[ ! $id ]] || { kill "$id" && wait "$id"; }
}

account='{"email":"ada@example.com","password":"correct horse"}'

stores_element() {
  local token
  token=$(curl -sf "$service_url/v1/users" -d "$account" | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
  curl -sf -X PUT -H "Authorization: Bearer $token" "$service_url/v1/favorites/photo:1" -d '{"title":"Aurora"}'
}

has_element() {
  local token
  token=$(curl -sf "$service_url/v1/sessions" -d "$account" | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
  curl -sf -H "Authorization: Bearer $token" "$service_url/v1/favorites/photo:1" | grep Aurora
}

# test_debian_package FILE: tests the package with lintian and in a chroot of Debian.
test_debian_package() {
  local suppressed=() unit=$work/unpacked/lib/systemd/system/lockstep.service library
  # A debug build finds Swift's libraries in the folder of the toolchain.
  [[ ! $server || $server == *release* ]] || suppressed=(--suppress-tags custom-library-search-path)
  verify "lintian has no error and no warning" lintian --fail-on error,warning "${suppressed[@]}" "$1"
  mkdir "$work/units"
  sed "s|/usr/bin/lockstep|$work/unpacked/usr/bin/lockstep|" "$unit" >"$work/units/lockstep.service"
  verify "systemd accepts the unit" accepts_unit "$work/units/lockstep.service"

  debian=$work/debian-root sources=(/etc/apt/sources.list.d/*.sources)
  say "Making a chroot of Debian"
  mmdebstrap --quiet --mode=root --variant=minbase --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include="usr-is-merged,adduser,$(dpkg-deb -f "$1" Depends | sed 's/([^)]*)//g; s/ //g')" \
    bookworm "$debian" "${sources[@]}" >"$work/mmdebstrap.log" 2>&1 ||
    die 69 "mmdebstrap cannot make a chroot of Debian: $(<"$work/mmdebstrap.log")"
  # A debug build needs the libraries of Swift, which are in no package.
  for library in $(ldd "$work/unpacked/usr/bin/lockstep" | sed -n 's/.*=> \(\/[^ ]*swift[^ ]*\) .*/\1/p'); do
    install -D "$library" "$debian$library"
  done
  # The same package with a lower version, to upgrade from.
  dpkg-deb --raw-extract "$1" "$work/older"
  sed -i 's/^Version: .*/Version: 0~older/' "$work/older/DEBIAN/control"
  dpkg-deb --root-owner-group -Znone --build "$work/older" "$debian/older.deb" >/dev/null
  cp "$1" "$debian/newer.deb"
  test_life_of_package
}

accepts_unit() {
  systemd-analyze verify --man=no --recursive-errors=no "$1" 2>&1 | tee "$work/faults"
  ! grep -F lockstep "$work/faults"
}

# in_debian COMMAND…: runs a command in the chroot.
in_debian() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$debian" "$@"; }

# Starts the server as the unit does: its command, its user, its variables.
start_unit() {
  local unit=$debian/lib/systemd/system/lockstep.service variables program user
  mapfile -t variables < <(sed -n 's/^Environment=//p' "$unit" && sed -n '/^[A-Z]/p' "$debian/etc/default/lockstep")
  program=$(sed -n 's/^ExecStart=\(.*\) serve$/\1/p' "$unit")
  user=$(sed -n 's/^User=//p' "$unit")
  start_service "$debian" "$user:$user" "$program" "${variables[@]}"
}

is_owned_by_service() {
  [[ $(in_debian find /var/lib/lockstep ! -user lockstep -o -perm /077) == "" ]] &&
    in_debian test -f /var/lib/lockstep/lockstep.db
}

lists_user() {
  (enter "$debian" lockstep:lockstep lockstep user list --data /var/lib/lockstep/lockstep.db) | grep ada@example.com
}

is_enabled() { [[ -L $debian/etc/systemd/system/multi-user.target.wants/lockstep.service ]]; }

test_life_of_package() {
  verify "the package installs without systemd" in_debian dpkg --install /older.deb
  verify "the service is enabled" is_enabled
  verify "only root can read the options" [ "$(stat -c %a:%u "$debian/etc/default/lockstep")" = 600:0 ]
  start_unit
  verify "the server starts as the unit starts it, and stores an element" stores_element
  verify "the server exits with 0 on SIGTERM" end_service
  verify "only the server's user can read the store" is_owned_by_service
  verify "the commands work as the server's user" lists_user

  echo LOCKSTEP_REGISTRATION=closed >>"$debian/etc/default/lockstep"
  verify "the package upgrades" in_debian dpkg --install /newer.deb
  verify "the administrator's options stay" grep -q closed "$debian/etc/default/lockstep"
  start_unit
  verify "the element is there after the upgrade" has_element
  verify "the server exits with 0 again" end_service

  verify "the package can be removed" in_debian dpkg --remove lockstep
  # shellcheck disable=SC2016 # eval expands it
  verify "the program is gone, the store is kept" eval '! in_debian test -e /usr/bin/lockstep && is_owned_by_service'
  verify "the options are kept" test -e "$debian/etc/default/lockstep"
  verify "the package can be purged" in_debian dpkg --purge lockstep
  # shellcheck disable=SC2016 # eval expands it
  verify "the options are gone, the store is kept" eval '! test -e "$debian/etc/default/lockstep" && is_owned_by_service'
  # shellcheck disable=SC2016 # eval expands it
  verify "the service is not enabled any more" eval '! is_enabled'
  rm -r "$debian/var/lib/lockstep"
  verify "the package installs again" in_debian dpkg --install /newer.deb
  verify "the package can be purged at once" in_debian dpkg --purge lockstep
  # shellcheck disable=SC2016 # eval expands it
  verify "nothing is left" eval '[[ ! -e $debian/var/lib/lockstep ]] && ! find "$debian"/{etc,usr,lib,var/lib/systemd} -name "*lockstep*" | grep .'
}
