# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh and scripts/package set the variables
# The parts of the files of a release: what is linked into them, and what they depend on. For each
# part, the functions print a line for sbom.py.

# The libraries that are linked into the program of the archive: Debian's package, and the licence.
linked_libraries=(
  libsqlite3-dev:blessing
  libsodium-dev:ISC
  zlib1g-dev:Zlib
  'libstdc++-12-dev:GPL-3.0-or-later WITH GCC-exception-3.1'
  'libgcc-12-dev:GPL-3.0-or-later WITH GCC-exception-3.1'
)

# part RELATION NAME VERSION LICENCE URL
part() {
  local IFS=$'\t'
  echo "$*"
}

# debian_part RELATION PACKAGE LICENCE: a package of Debian that is installed here.
debian_part() {
  local version architecture
  version=$(dpkg-query -Wf '${Version}' "$2")
  architecture=$(dpkg-query -Wf '${Architecture}' "$2")
  part "$1" "$2" "$version" "$3" "pkg:deb/debian/${2//+/%2B}@${version//+/%2B}?arch=$architecture&distro=debian-12"
}

swift_part() {
  local version
  version=$(swift --version 2>/dev/null | sed -n 's/^Swift version \([0-9.]*\).*/\1/p')
  part STATIC_LINK swift-runtime "$version" 'Apache-2.0 WITH Swift-exception' \
    "pkg:github/swiftlang/swift@swift-$version-RELEASE"
}

linked_parts() {
  local entry
  for entry in "${linked_libraries[@]}"; do debian_part STATIC_LINK "${entry%%:*}" "${entry#*:}"; done
}

# library_packages: prints the packages of the shared libraries that the program needs, as the field
# Depends.
library_packages() {
  mkdir -p "$work/shlibdeps/debian"
  printf 'Source: lockstep\n\nPackage: lockstep\nArchitecture: any\n' >"$work/shlibdeps/debian/control"
  # The libraries of Swift that a debug build uses are in no package.
  (cd "$work/shlibdeps" && dpkg-shlibdeps --ignore-missing-info -O "$work/debian/usr/bin/lockstep" 2>"$work/shlibdeps/log") |
    sed -n 's/^shlibs:Depends=//p'
}

shared_parts() {
  local package licence entry
  for package in $(library_packages | sed 's/([^)]*)//g; s/,/ /g'); do
    licence=NOASSERTION
    for entry in "${linked_libraries[@]}"; do
      [[ ${entry%%-*} != "${package%%[-0-9]*}"* ]] || licence=${entry#*:}
    done
    debian_part DEPENDS_ON "$package" "$licence"
  done
}

# image_parts FILE: the packages of Debian in an image, as its layers have them in dpkg's format.
image_parts() {
  python3 "$root/scripts/package.d/image_parts.py" "$1"
  swift_part
}

# write_licences FOLDER: copies the licences of what is linked into the program.
write_licences() {
  local entry package
  for entry in "${linked_libraries[@]}"; do
    package=${entry%%:*}
    cp -L "/usr/share/doc/$package/copyright" "$1/${package%-dev}.txt"
  done
  cp "$(dirname "$(realpath "$(command -v swift)")")/../share/swift/LICENSE.txt" "$1/swift.txt"
}
