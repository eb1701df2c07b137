# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh and scripts/package set the variables
# Makes the archive, the Debian package and the images of a release.

# strip_program FILE TO: removes symbols, and overwrites .swift_modhash with zeros. That section only tells
# the compiler which modules have changed, and depends on the folder of the build. Removing it would also
# remove GNU_RELRO from the program.
strip_program() {
  local size zeros=$work/zeros
  strip -o "$2" "$1"
  size=$(objdump -h "$2" | awk '$2 == ".swift_modhash" { print $3 }')
  [[ $size ]] || return 0
  head -c "$((16#$size))" /dev/zero >"$zeros"
  objcopy --update-section ".swift_modhash=$zeros" "$2"
}

# build_programs: makes release builds, stripped: $work/static, into which the libraries are linked,
# and $work/dynamic.
build_programs() {
  local folder=$root/.build/static-libraries library flags
  ensure_commands gcc:gcc
  # The linker uses only these files, because it finds their folder first and no shared library is
  # there.
  rm -rf "$folder"
  mkdir -p "$folder"
  for library in sqlite3 sodium z stdc++ gcc; do
    ln -s "$(realpath "$(gcc -print-file-name="lib$library.a")")" "$folder/"
  done
  # The part of libgcc that is otherwise a shared library.
  ln -s "$(realpath "$(gcc -print-file-name=libgcc_eh.a)")" "$folder/libgcc_s.a"
  # The build's id would depend on paths in the debug information, which is not in the files. The
  # names of the program's own symbols would take a megabyte, and nothing looks them up.
  flags=(--package-path "$root" "${release_flags[@]}" --product lockstep --disable-local-rpath
    -Xlinker --build-id=none -Xlinker --no-export-dynamic)
  say "Building a release (the first time takes a few minutes)"
  swift build "${flags[@]}" -Xlinker "-L$folder" >&2
  server=$(swift build "${flags[@]}" --show-bin-path)/lockstep
  strip_program "$server" "$work/static"
  say "Linking it with shared libraries"
  swift build "${flags[@]}" >&2
  strip_program "$server" "$work/dynamic"
}

# pack FOLDER NAME…: prints a tar archive of these files and folders in the folder, with the same bytes
# for the same files. It has no entries for folders, so that unpacking it does not change the rights
# of folders that exist.
pack() (
  cd "$1" || exit
  find "${@:2}" -type f -print0 | sort -z | tar --create --null --files-from - --format gnu \
    --mtime "@$SOURCE_DATE_EPOCH" --owner 0 --group 0 --numeric-owner
)

# write_shared_files FOLDER PROGRAM: writes what the program says of itself, below FOLDER/share.
write_shared_files() {
  mkdir -p "$1"/share/{man/man1,bash-completion/completions,zsh,fish/vendor_completions.d}
  "$2" man >"$1/share/man/man1/lockstep.1"
  "$2" completions bash >"$1/share/bash-completion/completions/lockstep"
  "$2" completions zsh >"$1/share/zsh/_lockstep"
  "$2" completions fish >"$1/share/fish/vendor_completions.d/lockstep.fish"
}

# write_unit FILE: writes the unit of docs/deploying.md.
write_unit() {
  mkdir -p "$(dirname "$1")"
  configured ini >"$1"
}

# write_bill FILE: writes the bill of materials of FILE, with the parts from standard input.
write_bill() {
  python3 "$root/scripts/package.d/sbom.py" "$1" --version "$version" --seconds "$SOURCE_DATE_EPOCH" >"$1.spdx.json"
}

make_archive() {
  local name file folder licences
  name=lockstep-$version-linux-$(uname -m)
  folder=$work/$name
  licences=$folder/share/doc/lockstep/licences
  say "Making $name.tar.gz"
  write_shared_files "$folder" "$work/static"
  # The folder of an administrator, as the archive is for /usr/local.
  mkdir "$folder/share/zsh/site-functions"
  mv "$folder/share/zsh/_lockstep" "$folder/share/zsh/site-functions/"
  install -D "$work/static" "$folder/bin/lockstep"
  write_unit "$folder/lib/systemd/system/lockstep.service"
  mkdir -p "$licences"
  cp "$root"/{LICENSE,README.md,CHANGELOG.md} "$folder/share/doc/lockstep/"
  write_licences "$licences"
  find "$folder" -type d -exec chmod 755 {} +
  find "$folder" -type f ! -path '*/bin/*' -exec chmod 644 {} +
  file=$output/$name.tar.gz
  pack "$work" "$name" | gzip -n9 >"$file"
  { linked_parts; swift_part; } | write_bill "$file"
}

make_debian_package() {
  local architecture folder doc file level=6
  architecture=$(dpkg --print-architecture)
  folder=$work/debian
  doc=$folder/usr/share/doc/lockstep
  file=$output/lockstep_$version-1_$architecture.deb
  say "Making $(basename "$file")"
  mkdir -p "$doc" "$folder/DEBIAN" "$folder/etc/default" "$folder/usr/share/zsh/vendor-completions"
  install -D "$work/dynamic" "$folder/usr/bin/lockstep"
  write_shared_files "$folder/usr" "$work/dynamic"
  mv "$folder/usr/share/zsh/_lockstep" "$folder/usr/share/zsh/vendor-completions/"
  gzip -n9 "$folder/usr/share/man/man1/lockstep.1"
  # A user that administrators can name in commands, and options in a file.
  write_unit "$work/lockstep.service"
  mkdir -p "$folder/lib/systemd/system"
  sed -e 's|^ExecStart=.*|ExecStart=/usr/bin/lockstep serve\nEnvironment=LOCKSTEP_DATA=/var/lib/lockstep/lockstep.db|' \
    -e 's|^EnvironmentFile=.*|EnvironmentFile=-/etc/default/lockstep|' \
    -e 's|^DynamicUser=yes|User=lockstep\nGroup=lockstep|' \
    -e 's|^Description=.*|&\nDocumentation=man:lockstep(1)|' \
    "$work/lockstep.service" >"$folder/lib/systemd/system/lockstep.service"
  install -m 600 "$root/deploy/debian/default" "$folder/etc/default/lockstep"
  echo /etc/default/lockstep >"$folder/DEBIAN/conffiles"
  sed -n '5,$s/^$/./; 5,$s/^/ /p' "$root/LICENSE" >"$work/licence"
  sed -e "/@licence@/{r $work/licence" -e 'd}' "$root/deploy/debian/copyright" >"$doc/copyright"
  gzip -n9 <"$root/CHANGELOG.md" >"$doc/changelog.gz"
  printf 'lockstep (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' "$version" \
    "$(sed -n 's/^Maintainer: //p' "$root/deploy/debian/control")" "$(date -Rd "@$SOURCE_DATE_EPOCH")" |
    gzip -n9 >"$doc/changelog.Debian.gz"
  install -D -m 644 "$root/deploy/debian/lintian-overrides" "$folder/usr/share/lintian/overrides/lockstep"
  install -m 755 "$root"/deploy/debian/{postinst,prerm,postrm} "$folder/DEBIAN/"
  (cd "$folder" && find usr lib etc -type f ! -path etc/default/lockstep -print0 | sort -z | xargs -0 md5sum) \
    >"$folder/DEBIAN/md5sums"
  chmod 644 "$folder"/DEBIAN/{md5sums,conffiles}
  sed -e "s/@version@/$version-1/; s/@architecture@/$architecture/; s/@depends@/$(library_packages)/" \
    -e "s/@size@/$(du -sk --apparent-size --exclude DEBIAN "$folder" | cut -f1)/" \
    "$root/deploy/debian/control" >"$folder/DEBIAN/control"
  find "$folder" -exec touch --no-dereference -d "@$SOURCE_DATE_EPOCH" {} +
  # A debug build is large, and is packed only for tests.
  [[ ! $server || $server == *release* ]] || level=1
  dpkg-deb --root-owner-group -Zxz -z"$level" --build "$folder" "$file" >&2
  { shared_parts; swift_part; } | write_bill "$file"
}

# Makes the images with docker or podman, whichever runs here.
make_images() {
  local engine target file
  for engine in podman docker; do
    if command -v "$engine" >/dev/null && "$engine" info >/dev/null 2>&1; then break; fi
    engine=
  done
  [[ $engine ]] || die 69 "--images needs docker or podman"
  for target in slim bare; do
    file=$output/lockstep-$version-$target.oci.tar
    say "Making $(basename "$file") with $engine"
    make_image "$engine" "$target" "$file"
    image_parts "$file" | write_bill "$file"
  done
}

# make_image ENGINE TARGET FILE
make_image() {
  local name=lockstep:$version-$2 folder=$work/image-$2 options=()
  [[ $2 == slim ]] || options=(--target "$2")
  mkdir "$folder"
  if [[ $1 == podman ]]; then
    podman build --timestamp "$SOURCE_DATE_EPOCH" "${options[@]}" -t "$name" "$root" >&2
    podman save --quiet --format oci-archive "$name" | tar -xC "$folder"
  else
    docker buildx build --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" "${options[@]}" \
      --output "type=oci,rewrite-timestamp=true,name=$name" "$root" | tar -xC "$folder"
  fi
  # The engine's archive has the time at which it was written.
  pack "$folder" blobs index.json oci-layout >"$3"
}
