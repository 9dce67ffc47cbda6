#!/usr/bin/env bash
# Starts a Docker engine for one command, on machines without one:
#   bash tests/docker/with-engine.sh npm run test:docker
# Needs root, Debian, and an npm ci before it: the command sees no network. Installs the engine's packages when they are
# missing, starts the engine in private namespaces, and makes the two base images from Debian packages and this machine's
# Node and npm, because it uses no image registry: with the files that the official images have, so that the size of what is
# built on them is true but for the version of Node. Removes the engine, its containers and its files when the command ends.
# BASE_ROOT names a folder that keeps the two Debians for the next run; they take two minutes to make.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

if [ "${1:-}" != --inside ]; then
  packages='docker.io docker-compose iptables iproute2 curl debootstrap openssl'
  # shellcheck disable=SC2086
  if ! dpkg -s $packages >/dev/null 2>&1; then
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $packages >/dev/null
  fi
  # a short path: the name of a unix socket has at most 107 bytes
  work=$(mktemp -d /tmp/engine.XXXXXX)
  chmod 755 "$work"
  relay=''
  clean_up() {
    if [ -n "$relay" ]; then kill "$relay" 2>/dev/null || true; fi
    # the engine's cgroups are empty now
    while IFS=: read -r _ controllers path; do
      folder=/sys/fs/cgroup/${controllers#name=}${path%/}/${work##*/}
      if [ -d "$folder" ]; then find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true; fi
    done </proc/self/cgroup
    rm -rf "$work"
  }
  trap clean_up EXIT
  trap 'exit 143' INT TERM
  bases=${BASE_ROOT:-$work/bases}
  # make_debian NAME PACKAGES: without the files that Debian's images leave out, and without downloads
  make_debian() {
    local folder=$bases/$1
    if [ -e "$folder.complete" ]; then return; fi
    rm -rf "$folder"
    mkdir -p "$bases/packages"
    # the mirror that apt uses on this machine
    debootstrap --variant=minbase --cache-dir="$bases/packages" --include="$2" bookworm "$folder" \
      "$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)" >"$bases/$1.log"
    rm -rf "$folder"/usr/share/{info,locale,man}/* "$folder"/var/{cache/apt,lib/apt/lists}/*
    find "$folder/usr/share/doc" -type f ! -name copyright -delete
    touch "$folder.complete"
  }
  make_debian node libatomic1
  make_debian postgres postgresql-15
  rm -rf "$bases/packages"
  node "$here/registry-relay.mjs" --serve "$work/registry.sock" "$(npm config get registry)" &
  relay=$!
  code=0
  WORK=$work BASES=$bases unshare --mount --net --pid --cgroup --fork --kill-child --mount-proc \
    bash "$here/with-engine.sh" --inside "$@" || code=$?
  exit "$code"
fi

shift
mount -t tmpfs tmpfs /run
ip link set lo up
# cgroup v1 hierarchies, rooted at our own cgroup
for controller in cpu cpuacct cpuset memory devices freezer blkio pids; do
  if mountpoint -q "/sys/fs/cgroup/$controller"; then
    umount "/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller"
  fi
done
umount /sys/fs/cgroup/unified /sys/fs/cgroup/systemd 2>/dev/null || true

socket=$WORK/engine.sock
dockerd --data-root "$WORK/data" --exec-root /run/docker --pidfile /run/docker.pid -H "unix://$socket" \
  --storage-driver overlay2 --oom-score-adjust 0 --cgroup-parent "/${WORK##*/}" >"$WORK/engine.log" 2>&1 &
engine=$!
for _ in $(seq 300); do
  if curl -sf --unix-socket "$socket" http://engine/_ping >/dev/null; then break; fi
  if ! kill -0 "$engine" 2>/dev/null; then
    echo 'the Docker engine did not start:' >&2
    tail -20 "$WORK/engine.log" >&2
    exit 97
  fi
  sleep 0.1
done
# containers reach the package registry through this machine
node "$here/registry-relay.mjs" --forward 4873 "$WORK/registry.sock" &

# the official image of Node: its programs are in /usr/local, and it has a user
root=$WORK/node
cp -a "$BASES/node" "$root"
node=$(readlink -f "$(command -v node)")
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
cp "$node" "$root/usr/local/bin/node"
ldd "$node" | grep -o '/[^ ]*' | sort -u | while read -r library; do
  mkdir -p "$root${library%/*}"
  cp -nL "$library" "$root$library"
done
mkdir -p "$root/usr/local/lib/node_modules"
cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
echo 'node:x:1000:1000::/home/node:/bin/sh' >>"$root/etc/passwd"
echo 'node:x:1000:' >>"$root/etc/group"
install -d -o 1000 -g 1000 "$root/home/node"

cp -a "$BASES/postgres" "$WORK/postgres"
install -m 755 "$here/postgres-entrypoint.sh" "$WORK/postgres/usr/local/bin/docker-entrypoint.sh"

# make_image FOLDER NAME [CHANGE...]: an image of a root folder
make_image() {
  local folder=$1 name=$2 query=''
  shift 2
  for change in "$@"; do query+="&changes=$(node -p 'encodeURIComponent(process.argv[1])' "$change")"; done
  tar -C "$folder" -c . | curl -sS --fail-with-body --unix-socket "$socket" -X POST -T - \
    -H 'Content-Type: application/x-tar' "http://engine/images/create?fromSrc=-&repo=$name$query" >/dev/null
}
make_image "$root" "$(sed -n 's/^FROM \(node:[^ ]*\) AS build$/\1/p' "$here/../../Dockerfile")" 'ENV NPM_CONFIG_REGISTRY=http://172.17.0.1:4873/' \
  'ENV NPM_CONFIG_REPLACE_REGISTRY_HOST=always'
make_image "$WORK/postgres" "$(sed -n 's/^ *image: \(postgres:.*\)$/\1/p' "$here/../../docker-compose.yml")" 'ENTRYPOINT ["docker-entrypoint.sh"]' 'VOLUME /var/lib/postgresql' \
  'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
rm -rf "$root" "$WORK/postgres"

# its own folder: test runs outside see other process ids, and remove the databases of runs that do not seem to be alive
install -d -m 1777 "$WORK/tmp"
export DOCKER_HOST=unix://$socket DOCKER_BUILDKIT=0 TMPDIR=$WORK/tmp
code=0
"$@" || code=$?
exit "$code"
