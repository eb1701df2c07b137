# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables come from common.sh and go to the script that sources this
# Servers for benchmarks: started on free ports of loopback, measured through /proc, ended on exit.
# A side is one of the servers to compare, such as lockstep and nginx. Source it after common.sh.

declare -A pid port
work=$(mktemp -d)
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

PATH+=:/usr/sbin # where Debian keeps nginx
ulimit -n 20100 2>/dev/null || ulimit -n "$(ulimit -Hn)" # 20,000 connections, or as many as the limit allows

prepare_servers() {
  ensure_build_tools
  ensure_commands nginx-light:nginx wrk:wrk binutils:strip
  local load
  read -r load _ </proc/loadavg
  [[ $load == 0.* ]] || say "The machine is busy (load $load): expect noisy figures"
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
    kill -0 "${pid[$side]}" 2>/dev/null || die 70 "$side did not start: $(<"$work/$side.err")"
    sleep 0.01
  done
}

# run_once SIDE: starts a Lockstep server, and stops it when it was ready. So its store has all tables.
run_once() {
  start "$1" 1
  # A server that is stopped earlier leaves its store empty.
  until grep -q "listening on" "$work/$1.out"; do sleep 0.01; done
  stop "$1"
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

# SIDE_command PORT THREADS: prints the command that starts a side, one word per line.
lockstep_command() {
  printf '%s\n' "$server" serve --port "$1" --threads "$2" --data "$work/lockstep.db" --max-connections 20000 \
    --log-level warning
}

# nginx responds from its configuration, without files and logs, with the response that mirror has
# copied from lockstep.
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

# mirror PATH [FIELD…]: reads lockstep's response, so that nginx can send the same body and fields.
# Sets body_size, and tag to the ETag.
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
  [[ $head == "HTTP/1.1 200"* ]] || die 70 "GET $1 gets ${head%%$'\r'*}"
  [[ $body != *[\$\'\\]* ]] || die 70 "nginx cannot send the body of GET $1, which contains a \$, a ' or a backslash"
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

# The processes of a side that serve. nginx's first process only supervises the others.
serving_pids() {
  local id=${pid[$1]}
  if [[ $(<"/proc/$id/comm") == nginx ]]; then cat "/proc/$id/task/$id/children"; else echo "$id"; fi
}

# The CPU time of a side so far, user and system, in µs. The kernel counts in ticks of 10 ms.
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
