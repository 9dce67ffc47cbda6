#!/usr/bin/env bash
# Starts a Docker engine for one command, on machines without one:
#   bash tests/docker/with-engine.sh npm run test:docker
# Needs root, Debian, and an npm ci before it: the command sees no network. Installs the engine's packages when they are
# missing, starts the engine in private namespaces, and makes the two base images from Debian packages and this machine's
# Node and npm, because it uses no image registry. Removes the engine, its containers and its files when the command ends.
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
  if [ -z "${BASE_ROOT:-}" ]; then
    # the mirror that apt uses on this machine
    mirror=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)
    debootstrap --variant=minbase --include=ca-certificates,libatomic1,postgresql-15 bookworm "$work/debian" "$mirror" \
      >"$work/debootstrap.log"
  fi
  node "$here/registry-relay.mjs" --serve "$work/registry.sock" "$(npm config get registry)" &
  relay=$!
  clean_up() {
    kill "$relay" 2>/dev/null || true
    # the engine's cgroups are empty now
    while IFS=: read -r _ controllers path; do
      folder=/sys/fs/cgroup/${controllers#name=}${path%/}/${work##*/}
      if [ -d "$folder" ]; then find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true; fi
    done </proc/self/cgroup
    rm -rf "$work"
  }
  trap clean_up EXIT
  trap 'exit 143' INT TERM
  code=0
  WORK=$work unshare --mount --net --pid --cgroup --fork --kill-child --mount-proc \
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

root=$WORK/root
if [ -n "${BASE_ROOT:-}" ]; then
  # a Debian made before, for repeated runs
  cp -a "$BASE_ROOT" "$root"
else
  # made in the outer part, because this network has no way out
  mv "$WORK/debian" "$root"
fi
node=$(readlink -f "$(command -v node)")
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
cp "$node" "$root/usr/bin/node"
ldd "$node" | grep -o '/[^ ]*' | sort -u | while read -r library; do
  mkdir -p "$root${library%/*}"
  cp -nL "$library" "$root$library"
done
mkdir -p "$root/usr/lib/node_modules"
cp -a "$npm" "$root/usr/lib/node_modules/npm"
ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/bin/npm"
echo 'node:x:1000:1000::/home/node:/bin/sh' >>"$root/etc/passwd"
echo 'node:x:1000:' >>"$root/etc/group"
install -d -o 1000 -g 1000 "$root/home/node"
install -m 755 "$here/postgres-entrypoint.sh" "$root/usr/local/bin/docker-entrypoint.sh"

# make_image NAME [CHANGE...]: an image of the root folder
make_image() {
  local name=$1 query=''
  shift
  for change in "$@"; do query+="&changes=$(node -p 'encodeURIComponent(process.argv[1])' "$change")"; done
  tar -C "$root" -c . | curl -sS --fail-with-body --unix-socket "$socket" -X POST -T - \
    -H 'Content-Type: application/x-tar' "http://engine/images/create?fromSrc=-&repo=$name$query" >/dev/null
}
make_image "$(sed -n 's/^FROM \(node:[^ ]*\)$/\1/p' "$here/../../Dockerfile")" 'ENV NPM_CONFIG_REGISTRY=http://172.17.0.1:4873/' \
  'ENV NPM_CONFIG_REPLACE_REGISTRY_HOST=always'
make_image "$(sed -n 's/^ *image: \(postgres:.*\)$/\1/p' "$here/../../docker-compose.yml")" 'ENTRYPOINT ["docker-entrypoint.sh"]' 'VOLUME /var/lib/postgresql' \
  'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
rm -rf "$root"

export DOCKER_HOST=unix://$socket DOCKER_BUILDKIT=0
code=0
"$@" || code=$?
exit "$code"
