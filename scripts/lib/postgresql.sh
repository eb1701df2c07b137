# shellcheck shell=bash
# shellcheck disable=SC2034 # postgresql_url is for the scripts that source this
# For scripts that need a PostgreSQL server: a cluster of their own, in a temporary folder.

postgresql_folder=
# The connection string of the cluster, for a superuser.
postgresql_url=

# Starts a cluster for the tests, unless the caller's environment names a server for them.
provide_postgresql() {
  [[ -z ${LOCKSTEP_TEST_POSTGRESQL:-} ]] || return 0
  # Each of the servers under test makes several connections. The tests create and drop thousands of
  # schemas. Autovacuum would run all the time, and PostgreSQL keeps the files of dropped tables
  # until a checkpoint.
  start_postgresql 'max_connections = 2000' 'autovacuum = off' 'checkpoint_timeout = 30s'
  export LOCKSTEP_TEST_POSTGRESQL=$postgresql_url
}

# start_postgresql [SETTING…]: starts a cluster and sets postgresql_url. Installs PostgreSQL if it is
# missing. The caller must run stop_postgresql in a trap. The cluster listens on a Unix socket only.
# Unless a setting says 'fsync = on', a crash of the machine would destroy it. It asks for no password,
# except of the role lockstep_password.
start_postgresql() {
  postgresql_find || {
    install_packages postgresql
    postgresql_find || die 69 "Debian's package postgresql has no initdb in /usr/lib/postgresql"
  }
  postgresql_folder=$(mktemp -d)
  # PostgreSQL refuses to run as root. Debian's package has made the user postgres.
  postgresql_as=()
  if ((EUID == 0)); then
    id postgres >/dev/null 2>&1 || die 69 "PostgreSQL does not run as root, and there is no user postgres"
    chown postgres: "$postgresql_folder"
    postgresql_as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  fi
  # Other users may use the socket, which is in this folder.
  chmod 755 "$postgresql_folder"
  local data=$postgresql_folder/data
  say "Starting a PostgreSQL cluster in $postgresql_folder"
  (cd / && "${postgresql_as[@]}" "$postgresql_programs/initdb" --pgdata="$data" --auth=trust --encoding=UTF8 \
    --no-locale --username=lockstep --no-sync >"$postgresql_folder.log" 2>&1) ||
    postgresql_failure "initdb failed"
  cat >>"$data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$postgresql_folder'
max_connections = 300
fsync = off
$(printf '%s\n' "$@")
END
  # The first matching line counts.
  sed -i '1i local all lockstep_password scram-sha-256' "$data/pg_hba.conf"
  (cd / && "${postgresql_as[@]}" "$postgresql_programs/pg_ctl" start --pgdata="$data" --wait --silent \
    --log="$postgresql_folder/server.log" >>"$postgresql_folder.log" 2>&1) ||
    postgresql_failure "the cluster did not start"
  postgresql_url="host=$postgresql_folder dbname=postgres user=lockstep"
}

# Stops the cluster and removes its folder. Does nothing if there is none.
stop_postgresql() {
  [[ $postgresql_folder ]] || return 0
  if [[ -f $postgresql_folder/data/postmaster.pid ]]; then
    (cd / && "${postgresql_as[@]}" "$postgresql_programs/pg_ctl" stop --pgdata="$postgresql_folder/data" \
      --mode=immediate --silent >&2) || true
  fi
  rm -rf "$postgresql_folder" "$postgresql_folder.log"
  postgresql_folder=
}

# Sets postgresql_programs to the folder of the newest version that is installed.
postgresql_find() {
  postgresql_programs=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null |
    sort --version-sort | tail -n 1)
  [[ -x $postgresql_programs/initdb ]]
}

postgresql_failure() {
  cat "$postgresql_folder.log" "$postgresql_folder/server.log" >&2 2>/dev/null || true
  die 69 "$1"
}
