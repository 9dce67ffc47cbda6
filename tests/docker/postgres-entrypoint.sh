#!/usr/bin/env bash
# Entry point of the PostgreSQL image that with-engine.sh makes; reads the variables of the official image.
set -euo pipefail
data=/var/lib/postgresql/data
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }

if [ ! -s "$data/PG_VERSION" ]; then
  install -d -o postgres -g postgres -m 700 "$data"
  password=$(mktemp)
  cp "$POSTGRES_PASSWORD_FILE" "$password"
  chown postgres "$password"
  as_postgres initdb -D "$data" -E UTF8 --locale=C.UTF-8 -U "$POSTGRES_USER" --pwfile="$password" >/dev/null 2>&1
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  as_postgres pg_ctl -D "$data" -w -o "-c listen_addresses='' -c unix_socket_directories=/tmp" start >/dev/null
  PGPASSWORD=$(cat "$password") psql -h /tmp -U "$POSTGRES_USER" -d postgres -qc "CREATE DATABASE \"$POSTGRES_DB\""
  as_postgres pg_ctl -D "$data" -w -m fast stop >/dev/null
  rm "$password"
fi
# As in the official image, programs in the container connect to this socket without a password.
install -d -o postgres -g postgres -m 2775 /var/run/postgresql
exec setpriv --reuid=postgres --regid=postgres --clear-groups \
  postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
