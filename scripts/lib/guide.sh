# shellcheck shell=bash
# shellcheck disable=SC2154 # variables come from common.sh
# The configurations in docs/deploying.md. Source it after common.sh.

# printed LANGUAGE[:NUMBER]: prints a block of the guide in this language, the first one or this one.
printed() {
  awk -v fence="\`\`\`${1%:*}" -v number="$([[ $1 != *:* ]] && echo 1 || echo "${1#*:}")" '
    inside && $0 == "```" { exit }
    inside
    $0 == fence && ++count == number { inside = 1 }
  ' "$root/docs/deploying.md"
}

# configured LANGUAGE[:NUMBER] FROM TO [FROM TO]…: prints the guide's configuration with this run's ports and
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
