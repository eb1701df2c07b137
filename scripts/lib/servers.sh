# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables come from common.sh and go to the script that sources this
# Servers side by side for benchmarks: started on free ports of loopback, observed through /proc, ended on exit.
# A side is lockstep or nginx. To be sourced after common.sh.

declare -A pid port
work=$(mktemp -d)
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

PATH+=:/usr/sbin # where Debian keeps nginx
ulimit -n 20100 2>/dev/null || ulimit -n "$(ulimit -Hn)" # room for 20,000 connections, or as many as there may be

prepare_servers() {
  ensure_build_tools
  ensure_commands nginx-light:nginx wrk:wrk binutils:strip
  local load
  read -r load _ </proc/loadavg
  [[ $load == 0.* ]] || say "The machine is busy (load $load): the figures will be noisy"
  build_server
  clang -O2 -o "$work/probe" "$root/scripts/lib/probe.c"
}

# start SIDE THREADS
start() {
  local side=$1 command
  port[$side]=$("$work/probe" free-port)
  mapfile -t command < <("${side}_command" "${port[$side]}" "$2")
  "${command[@]}" >"$work/$side.out" 2>"$work/$side.err" &
  pid[$side]=$!
  until (exec 3<>"/dev/tcp/127.0.0.1/${port[$side]}") 2>/dev/null; do
    kill -0 "${pid[$side]}" 2>/dev/null || die 70 "$side didn't start: $(<"$work/$side.err")"
    sleep 0.01
  done
}

stop() {
  [[ -n ${pid[$1]:-} ]] || return 0
  kill "${pid[$1]}" 2>/dev/null || true
  wait "${pid[$1]}" 2>/dev/null || true
  unset "pid[$1]"
}

stop_all() {
  local side
  for side in "${!pid[@]}"; do stop "$side"; done
}

# The command of a side, a word a line: SIDE_command PORT THREADS.
lockstep_command() {
  printf '%s\n' "$server" serve --port "$1" --threads "$2" --data "$work/lockstep.db" --max-connections 20000 \
    --log-level warning
}

# nginx answers from its configuration: no file, no log, nothing but HTTP. What ours sends, it sends: set by mirror.
nginx_command() {
  local config=$work/nginx-$1.conf module
  cat >"$config" <<END
daemon off;
worker_processes $2;
worker_rlimit_nofile $(ulimit -n);
pid $config.pid;
error_log stderr;
events { worker_connections $(($(ulimit -n) - 50)); }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600;
  server_tokens off;
  default_type application/json;
$(for module in client_body proxy fastcgi uwsgi scgi; do echo "  ${module}_temp_path $work/$module;"; done)
  server {
    listen 127.0.0.1:$1 reuseport;
    location / {
$(cat "$work/nginx.answer")
    }
  }
}
END
  printf '%s\n' "$(command -v nginx)" -e stderr -p "$work" -c "$config"
}

# mirror PATH [FIELD…]: reads what ours answers there, for nginx to answer the same: body, type and fields. Sets body_size
# and tag, the ETag.
mirror() {
  local answer head body line
  exec 3<>"/dev/tcp/127.0.0.1/${port[lockstep]}"
  {
    printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n' "$1"
    (($# == 1)) || printf '%s\r\n' "${@:2}"
    printf '\r\n'
  } >&3
  answer=$(cat <&3)
  exec 3>&-
  head=${answer%%$'\r\n\r\n'*}
  body=${answer#*$'\r\n\r\n'}
  [[ $head == "HTTP/1.1 200"* ]] || die 70 "GET $1 answers ${head%%$'\r'*}"
  [[ $body != *[\$\'\\]* ]] || die 70 "nginx can't repeat the body of GET $1: it has a \$, a ' or a backslash"
  body_size=$(printf %s "$body" | wc -c)
  tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' <<<"$head")
  {
    while IFS=': ' read -r name line; do
      case ${name,,} in
        http/* | date | content-length | content-type | connection | server) ;;
        *) printf "      add_header %s '%s';\n" "$name" "$(sed -e "s/'/\\\\'/g" -e 's/\r$//' <<<"$line")" ;;
      esac
    done <<<"$head"
    printf "      return 200 '%s';\n" "$body"
  } >"$work/nginx.answer"
}

# The processes of a side that serve: nginx's first one only watches the others.
serving_pids() {
  if [[ $1 == nginx ]]; then cat "/proc/${pid[nginx]}/task/${pid[nginx]}/children"; else echo "${pid[$1]}"; fi
}

# The CPU time that a side has used so far, user and system, in µs. The kernel counts it in ticks of 10 ms.
cpu_microseconds() {
  local id ticks=0 fields
  for id in $(serving_pids "$1"); do
    read -ra fields <<<"$(sed 's/.*) //' "/proc/$id/stat")"
    ticks=$((ticks + fields[11] + fields[12]))
  done
  echo $((ticks * 1000000 / $(getconf CLK_TCK)))
}

resident_kib() {
  local id sum=0
  for id in $(serving_pids "$1"); do
    sum=$((sum + $(awk '/^VmRSS:/ { print $2 }' "/proc/$id/status")))
  done
  echo "$sum"
}
