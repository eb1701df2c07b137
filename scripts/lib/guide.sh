# shellcheck shell=bash
# shellcheck disable=SC2154 # variables come from common.sh
# The configurations in docs/deploying.md. Source it after common.sh.

# printed LANGUAGE: prints the guide's block in this language.
printed() {
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$root/docs/deploying.md" | sed '1d;$d'
}

# configured LANGUAGE FROM TO [FROM TO]…: prints the guide's configuration with this run's ports and
# certificates. Fails if the guide does not contain a FROM.
configured() {
  local text from to
  text=$(printed "$1")
  shift
  while (($#)); do
    from=$1 to=$2
    [[ $text == *"$from"* ]] || die 70 "docs/deploying.md does not contain '$from'"
    text=${text//"$from"/"$to"}
    shift 2
  done
  printf '%s\n' "$text"
}
