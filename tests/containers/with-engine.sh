#!/usr/bin/env bash
# Starts a container engine for one command, on machines without one:
#   bash tests/containers/with-engine.sh docker|podman npm run test:containers
# Needs root, Debian, and an npm ci before it: the command sees no network. Installs the engine's packages when they are
# missing, starts the engine in private namespaces, and makes these images without an image registry:
#   agent-base:test   busybox, this machine's Node and the example agent
#   chat-node:test    the same, running the agent
#   wa2ai-shell:test  runtime-server/Dockerfile, built on a Debian that has its packages already
#   adk:test, abi:test, strands-python:test  the Dockerfiles of examples/agents, built on the same Debian under the names of
#     their base images, with npm and its packages for abi; Strands is a stand-in, beside FastAPI and uvicorn of Debian
# The command gets DOCKER_HOST, and ENGINE_COMMAND, ENGINE_PID_FILE and ENGINE_LOG to restart the engine. Removes the engine,
# its containers and its files when the command ends. Exit code 97: it did not start. BASE_ROOT names a folder that keeps the
# Debian for the next run; it takes a minute or two to make.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

if [ "${1:-}" != --inside ]; then
  kind=$1
  shift
  # a short path: the name of a unix socket has at most 107 bytes
  work=$(mktemp -d /tmp/engine.XXXXXX)
  chmod 755 "$work"
  clean_up() {
    # the engine's cgroups are empty now
    while IFS=: read -r _ controllers path; do
      folder=/sys/fs/cgroup/${controllers#name=}${path%/}/${work##*/}
      if [ -d "$folder" ]; then find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true; fi
    done </proc/self/cgroup
    rm -rf "$work"
  }
  trap clean_up EXIT
  trap 'exit 143' INT TERM
  base=${BASE_ROOT:-$work/debian}
  # one engine after the other installs packages and makes the Debian
  exec 9>"$base.lock"
  flock 9
  packages='busybox-static iproute2 iptables curl debootstrap'
  if [ "$kind" = docker ]; then packages+=' docker.io'; else packages+=' podman crun catatonit nftables'; fi
  # shellcheck disable=SC2086
  if ! dpkg -s $packages >/dev/null 2>&1; then
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $packages >/dev/null
  fi
  if [ ! -e "$base/complete" ]; then
    rm -rf "$base"
    mkdir -p "$base"
    tools=$(sed -n 's/.*--no-install-recommends \(.*\) \\$/\1/p' "$here/../../runtime-server/Dockerfile")
    # the mirror that apt uses on this machine
    mirror=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)
    debootstrap --variant=minbase --include="libatomic1,python3-fastapi,python3-uvicorn,${tools// /,}" bookworm "$base/root" "$mirror" >"$base/log" ||
      { tail -20 "$base/log" >&2; exit 97; }
    rm -rf "$base"/root/usr/share/{doc,man,locale} "$base"/root/var/{cache/apt,lib/apt/lists}/*
    touch "$base/complete"
  fi
  exec 9>&-
  mkdir "$work/context"
  node "$here/../../scripts/bundle-shell-runtime.mjs" "$work/context"
  # the packages of the example abi, for an npm that sees no network
  mkdir "$work/abi"
  cp "$here/../../examples/agents/abi/package.json" "$work/abi/"
  npm install --omit=dev --no-audit --no-fund --cache "$work/npm-cache" --prefix "$work/abi" >"$work/npm.log" 2>&1 ||
    { tail -20 "$work/npm.log" >&2; exit 97; }
  NPM_REGISTRY=$(npm config get registry)
  export NPM_REGISTRY
  code=0
  WORK=$work DEBIAN=$base/root ENGINE_KIND=$kind unshare --mount --net --pid --cgroup --fork --kill-child --mount-proc \
    bash "$(realpath "$0")" --inside "$@" || code=$?
  exit "$code"
fi

shift
mount -t tmpfs tmpfs /run
ip link set lo up
socket=$WORK/engine.sock
if [ "$ENGINE_KIND" = docker ]; then
  # cgroup v1 hierarchies, rooted at our own cgroup
  for controller in cpu cpuacct cpuset memory devices freezer blkio pids; do
    if mountpoint -q "/sys/fs/cgroup/$controller"; then
      umount "/sys/fs/cgroup/$controller"
      mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller"
    fi
  done
  umount /sys/fs/cgroup/unified /sys/fs/cgroup/systemd 2>/dev/null || true
  command="dockerd --data-root $WORK/data --exec-root /run/docker --pidfile /run/docker.pid -H unix://$socket --storage-driver overlay2 --oom-score-adjust 0 --cgroup-parent /${WORK##*/}"
else
  # crun refuses a mixture of cgroup v1 and v2
  umount /sys/fs/cgroup/unified 2>/dev/null || true
  files=$(ulimit -Hn)
  if [ "$files" = unlimited ]; then files=1048576; fi
  printf '[containers]\ncgroups="disabled"\ndefault_ulimits=["nofile=%s:%s","nproc=32768:32768"]\n[engine]\ncgroup_manager="cgroupfs"\nevents_logger="file"\nruntime="crun"\n' \
    "$files" "$files" >"$WORK/containers.conf"
  printf '[storage]\ndriver="overlay"\ngraphroot="%s/data"\nrunroot="/run/engine"\n' "$WORK" >"$WORK/storage.conf"
  : >"$WORK/registries.conf"
  export CONTAINERS_CONF=$WORK/containers.conf CONTAINERS_STORAGE_CONF=$WORK/storage.conf
  export CONTAINERS_REGISTRIES_CONF=$WORK/registries.conf
  # it keeps what it unpacks in TMPDIR when it is ended
  command="env TMPDIR=$WORK podman system service --time=0 unix://$socket"
fi
$command >"$WORK/engine.log" 2>&1 &
engine=$!
echo "$engine" >"$WORK/engine.pid"
for _ in $(seq 300); do
  if curl -sf --unix-socket "$socket" http://engine/_ping >/dev/null; then break; fi
  if ! kill -0 "$engine" 2>/dev/null; then
    echo "the engine $ENGINE_KIND did not start:" >&2
    tail -20 "$WORK/engine.log" >&2
    exit 97
  fi
  sleep 0.1
done

# copies this machine's Node and its libraries into a root folder
node=$(readlink -f "$(command -v node)")
copy_node() {
  mkdir -p "$1/usr/bin"
  cp "$node" "$1/usr/bin/node"
  ldd "$node" | grep -o '/[^ ]*' | sort -u | while read -r library; do
    mkdir -p "$1${library%/*}"
    cp -nL "$library" "$1$library"
  done
}
# make_image FOLDER NAME [CHANGE...]: an image of a root folder; podman ignores the parameter `tag`
make_image() {
  local folder=$1 name=$2 query=''
  shift 2
  for change in "$@"; do query+="&changes=$(node -p 'encodeURIComponent(process.argv[1])' "$change")"; done
  tar -C "$folder" -c . | curl -sS --fail-with-body --unix-socket "$socket" -X POST -T - \
    -H 'Content-Type: application/x-tar' "http://engine/images/create?fromSrc=-&repo=$name$query" >/dev/null
}

# an image of busybox and this machine's Node; / needs mode 755, or only root can run programs
root=$WORK/root
mkdir -p "$root"/{bin,usr/bin,etc,tmp,data,proc,sys,dev,root}
chmod 755 "$root"
chmod 1777 "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in sh ls cat nc ps kill sleep env id grep awk; do ln -s busybox "$root/bin/$applet"; done
copy_node "$root"
printf 'root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/data:/bin/sh\n' >"$root/etc/passwd"
# the example agent, as /app
mkdir "$root/app"
cp "$here"/../../examples/agents/chat-node/{package.json,agent.js,server.js} "$root/app/"
make_image "$root" agent-base:test 'ENV PATH=/usr/bin:/bin'
make_image "$root" chat-node:test 'ENV PATH=/usr/bin:/bin' 'WORKDIR /app' 'CMD ["node","server.js"]'
rm -rf "$root"

# a Debian that is named like the base image of each Dockerfile
cp -a "$DEBIAN" "$root"
copy_node "$root"
echo 'node:x:1000:1000::/home/node:/bin/bash' >>"$root/etc/passwd"
echo 'node:x:1000:' >>"$root/etc/group"
install -d -o 1000 -g 1000 "$root/home/node"
# the packages are there, so that the lists of packages need not be
echo 'Acquire::Retries "0";' >"$root/etc/apt/apt.conf.d/99-no-network"
npm=$(readlink -f "$(command -v npm)")
mkdir -p "$root/usr/lib/node_modules"
cp -a "${npm%/bin/*}" "$root/usr/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/bin/npm"
cp -a "$WORK/npm-cache" "$root/opt/npm-cache"
# Alpine's wget is that of busybox
cp "$(command -v busybox)" "$root/usr/bin/busybox"
ln -s busybox "$root/usr/bin/wget"
ln -s python3 "$root/usr/bin/python"
cp -a "$here"/../fixtures/strands/. "$root/usr/local/lib/python3.11/dist-packages/"
printf '#!/bin/sh\necho "pip: the packages of Python are those of the base image"\n' >"$root/usr/bin/pip"
chmod 755 "$root/usr/bin/pip"
# the image that a Dockerfile begins with
base_of() { sed -n 's/^FROM \([^ ]*\)$/\1/p' "$here/../../$1/Dockerfile"; }
node_image=$(base_of runtime-server)
make_image "$root" "$node_image" 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  'ENV npm_config_offline=true' 'ENV npm_config_cache=/opt/npm-cache' "ENV npm_config_registry=$NPM_REGISTRY"
rm -rf "$root"
for name in "$(base_of examples/agents/abi)" "$(base_of examples/agents/strands-python)"; do
  curl -sS --fail-with-body --unix-socket "$socket" -X POST \
    "http://engine/images/$node_image/tag?repo=${name%:*}&tag=${name#*:}"
done
# build FOLDER NAME: an image of the Dockerfile in a folder
build() {
  tar -C "$1" -c . | curl -sS --fail-with-body --unix-socket "$socket" -X POST -T - \
    -H 'Content-Type: application/x-tar' "http://engine/build?t=$2&networkmode=host" >"$WORK/build.log" || true
  if ! curl -sf --unix-socket "$socket" "http://engine/images/$2/json" >/dev/null; then
    echo "the image $2 was not built:" >&2
    tail -20 "$WORK/build.log" >&2
    exit 97
  fi
}
cp "$here/../../runtime-server/Dockerfile" "$WORK/context/Dockerfile"
build "$WORK/context" wa2ai-shell:test
for example in adk abi strands-python; do build "$here/../../examples/agents/$example" "$example:test"; done

export DOCKER_HOST=unix://$socket ENGINE_KIND ENGINE_COMMAND=$command
export ENGINE_PID_FILE=$WORK/engine.pid ENGINE_LOG=$WORK/engine.log
# process ids are other ones outside: nothing of this run may be taken for what an ended process left in /tmp
install -d -m 1777 "$WORK/tmp"
export TMPDIR=$WORK/tmp
code=0
"$@" || code=$?
exit "$code"
