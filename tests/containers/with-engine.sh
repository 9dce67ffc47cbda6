#!/usr/bin/env bash
# Starts a container engine for one command, on machines without one:
#   bash tests/containers/with-engine.sh docker|podman npm run test:containers
# Needs root, Debian, and an npm ci before it: the command sees no network. Installs the engine's packages when they are
# missing, starts the engine in private namespaces, and makes the images agent-base:test (busybox, this machine's Node and the
# example agent) and chat-node:test (the same, running the agent) without an image registry. The command gets DOCKER_HOST, and ENGINE_COMMAND, ENGINE_PID_FILE and ENGINE_LOG to restart
# the engine. Removes the engine, its containers and its files when the command ends. Exit code 97: it did not start.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

if [ "${1:-}" != --inside ]; then
  kind=$1
  shift
  packages='busybox-static iproute2 iptables curl'
  if [ "$kind" = docker ]; then packages+=' docker.io'; else packages+=' podman crun catatonit'; fi
  # shellcheck disable=SC2086
  if ! dpkg -s $packages >/dev/null 2>&1; then
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $packages >/dev/null
  fi
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
  code=0
  WORK=$work ENGINE_KIND=$kind unshare --mount --net --pid --cgroup --fork --kill-child --mount-proc \
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
  command="podman system service --time=0 unix://$socket"
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

# an image of busybox and this machine's Node; / needs mode 755, or only root can run programs
root=$WORK/root
mkdir -p "$root"/{bin,usr/bin,etc,tmp,data,proc,sys,dev,root}
chmod 755 "$root"
chmod 1777 "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in sh ls cat nc ps kill sleep env id grep awk; do ln -s busybox "$root/bin/$applet"; done
node=$(readlink -f "$(command -v node)")
cp "$node" "$root/usr/bin/node"
ldd "$node" | grep -o '/[^ ]*' | sort -u | while read -r library; do
  mkdir -p "$root${library%/*}"
  cp -L "$library" "$root$library"
done
printf 'root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/data:/bin/sh\n' >"$root/etc/passwd"
# the example agent, as /app
mkdir "$root/app"
cp "$here"/../../examples/agents/chat-node/{package.json,agent.js,server.js} "$root/app/"
# podman ignores a tag of its own
make_image() {
  tar -C "$root" -c . | curl -sS --fail-with-body --unix-socket "$socket" -X POST -T - \
    -H 'Content-Type: application/x-tar' \
    "http://engine/images/create?fromSrc=-&repo=$1&changes=ENV%20PATH=/usr/bin:/bin${2:-}" >/dev/null
}
make_image agent-base:test
make_image chat-node:test '&changes=WORKDIR%20/app&changes=CMD%20%5B%22node%22,%22server.js%22%5D'
rm -rf "$root"

export DOCKER_HOST=unix://$socket ENGINE_KIND ENGINE_COMMAND=$command
export ENGINE_PID_FILE=$WORK/engine.pid ENGINE_LOG=$WORK/engine.log
code=0
"$@" || code=$?
exit "$code"
