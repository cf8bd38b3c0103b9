#!/usr/bin/env bash
# Runs a command with a container engine and Compose for the test of docker-compose.yml, and removes what it started.
#
# Docker is used if it answers. Then Docker pulls the base images and builds with the Dockerfile's own caches. Otherwise root uses Podman, which
# is installed if apt-get is there. Its images and containers are in a temporary folder, and Compose is built from internal/pins/compose if
# Docker's client has none. If Podman cannot pull the base images, it gets stand-ins, which the output names.
#
# The command gets two variables: REAGENT_COMPOSE is the Compose command, and REAGENT_ENGINE is the path of the engine's socket.
#
# Where there is no engine and none can be installed, the script says why, and its exit code is REAGENT_NO_ENGINE, or 1 without this variable.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { printf "%s\n" "compose-test: $*"; }
no_engine() {
  say "Docker with Compose does not answer, and $*"
  exit "${REAGENT_NO_ENGINE:-1}"
}
base() { sed -n "s/^FROM .*\(golang:[^ ]*\) AS build/\1/p" Dockerfile; }
temporal() { sed -n 's/^ *image: \(temporalio\/temporal:.*\)/\1/p' docker-compose.yml; }

if docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1; then
  say "with Docker $(docker version -f '{{.Server.Version}}')"
  host=$(docker context inspect -f '{{.Endpoints.docker.Host}}')
  docker compose build worker
  docker build -q -t reagent-mcp:local deploy/mcp >/dev/null
  docker run --rm --network none -e OPENAI_API_KEY=unused reagent-mcp:local --check
  REAGENT_COMPOSE="docker compose" REAGENT_ENGINE=${host#unix://} exec "$@"
fi

if [[ $(id -u) != 0 ]]; then
  no_engine "the test uses Podman only as root, because it connects to the network of the containers"
fi
needed=(podman runc netavark aardvark-dns iptables nftables buildah catatonit busybox-static)
if ! command -v podman >/dev/null || ! command -v busybox >/dev/null || ! command -v catatonit >/dev/null; then
  if ! command -v apt-get >/dev/null; then
    no_engine "there is no apt-get to install Podman: install ${needed[*]}"
  fi
  say "installing Podman"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null
fi

dir=$(mktemp -d)
children=()
engine() { podman --root "$dir/root" --runroot "$dir/run" --network-config-dir "$dir/networks" "$@"; }
clean() {
  for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
  wait 2>/dev/null || true
  engine rm --all --force --time 0 >/dev/null 2>&1 || true
  engine network prune --force >/dev/null 2>&1 || true
  umount "$dir/root/overlay" 2>/dev/null || true
  rm -rf --one-file-system "$dir"
}
trap clean EXIT
trap 'exit 1' INT TERM

# runc and cgroupfs run on machines without systemd, too. The limits are those that any machine has.
export CONTAINERS_CONF=$dir/containers.conf
cat >"$CONTAINERS_CONF" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
CONF
say "with Podman $(podman --version | sed 's/.* //')"
if docker compose version >/dev/null 2>&1; then
  compose="docker compose"
else
  say "building Compose of internal/pins/compose, without its builder in Kubernetes; the first time, this takes minutes"
  cp internal/pins/compose/go.* "$dir"
  go mod download -C internal/pins/compose github.com/docker/compose/v2
  cp -r "$(go list -C internal/pins/compose -m -f '{{.Dir}}' github.com/docker/compose/v2)" "$dir/compose"
  chmod -R u+w "$dir/compose"
  sed -i '/buildx\/driver\/kubernetes/d' "$dir/compose/pkg/compose/build_buildkit.go"
  go mod edit -replace "github.com/docker/compose/v2=$dir/compose" "$dir/go.mod"
  CGO_ENABLED=0 go build -C internal/pins/compose -mod=readonly -modfile="$dir/go.mod" -trimpath -ldflags='-s -w' -o ../../../bin/docker-compose \
    github.com/docker/compose/v2/cmd
  compose=$PWD/bin/docker-compose
fi

mkdir "$dir/networks" "$dir/rootfs"
mounts=()
if engine pull -q "docker.io/library/$(base)" >/dev/null 2>&1; then
  engine pull -q "docker.io/$(temporal)" >/dev/null
else
  say "no image can be pulled, so these are stand-ins:"
  say "  $(base): $(go env GOVERSION), the module cache and the build cache of this machine, and busybox"
  (
    cd "$dir/rootfs"
    mkdir -p bin etc/ssl/certs root tmp go usr/local/go/lib/time
    chmod 1777 tmp
    cp "$(command -v busybox)" bin/busybox
    for name in sh mkdir ls cat; do ln -s busybox "bin/$name"; done
    cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/
    cp "$(go env GOROOT)/lib/time/zoneinfo.zip" usr/local/go/lib/time/
    tar -c .
  ) | engine import -q --change ENV=PATH=/usr/local/go/bin:/bin --change ENV=GOPATH=/go --change ENV=GOTOOLCHAIN=local \
    --change ENV=GOPROXY=file:///modules --change ENV=GOSUMDB=off --change ENV=GOCACHE=/gocache - "docker.io/library/$(base)" >/dev/null
  go mod download
  mounts=(-v "$(go env GOROOT):/usr/local/go:ro" -v "$(go env GOMODCACHE)/cache/download:/modules:ro" -v "$(go env GOCACHE):/gocache")

  say "  $(temporal): the Temporal CLI of internal/pins/cli and nothing else"
  cli=$(go run ./e2e/compose/temporalcli)
  rm -rf "$dir/rootfs"
  mkdir "$dir/rootfs"
  (
    cd "$dir/rootfs"
    mkdir -p usr/local/bin home/temporal tmp etc/ssl/certs
    chmod 1777 tmp
    chown 1000:1000 home/temporal
    echo 'temporal:x:1000:1000::/home/temporal:' >etc/passwd # the server looks its user up
    cp "$cli" usr/local/bin/temporal
    ldd "$cli" 2>/dev/null | grep -o '/[^ ]*' | xargs -r cp -L --parents -t . # nothing if it is static
    cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/
    tar -c .
  ) | engine import -q --change ENV=PATH=/usr/local/bin --change ENV=HOME=/home/temporal --change USER=1000:1000 \
    --change 'ENTRYPOINT ["temporal"]' - "docker.io/$(temporal)" >/dev/null
fi
say "building reagent:local from the Dockerfile"
engine build -q "${mounts[@]}" --build-arg TARGETOS=linux --build-arg TARGETARCH="$(go env GOARCH)" -t docker.io/library/reagent:local . >/dev/null

# The worker starts the MCP server of deploy/mcp in its image, and finds the tool of the agent there.
if node=$(command -v node); then
  say "building deploy/mcp"
  image=$(sed -n 's/^ARG BASE=//p' deploy/mcp/Dockerfile)
  if ! engine pull -q "docker.io/library/$image" >/dev/null 2>&1; then
    say "  $image: stand-in with Node.js $(node --version) of this machine and nothing else"
    rm -rf "$dir/rootfs"
    mkdir "$dir/rootfs"
    (
      cd "$dir/rootfs"
      mkdir -p usr/bin usr/local/bin tmp
      cp -L "$node" usr/bin/node
      ldd "$node" | grep -o '/[^ ]*' | xargs cp -L --parents -t .
      tar -c .
    ) | engine import -q --change ENV=PATH=/usr/local/bin:/usr/bin - "docker.io/library/$image" >/dev/null
  fi
  engine build -q -t docker.io/library/reagent-mcp:local deploy/mcp >/dev/null
  engine run --rm --network none -e OPENAI_API_KEY=unused docker.io/library/reagent-mcp:local --check
else
  say "there is no Node.js, so deploy/mcp is not tried"
fi

(exec podman --root "$dir/root" --runroot "$dir/run" --network-config-dir "$dir/networks" \
  system service --time=0 "unix://$dir/engine.sock") >"$dir/service.log" 2>&1 &
children+=($!)
until [[ -S $dir/engine.sock ]]; do sleep 0.1; done

# Podman leaves health checks to timers of systemd, which need not run.
if [[ ! -d /run/systemd/system ]]; then
  say "this machine has no systemd, so a loop runs the health checks every 5 s"
  while sleep 5; do
    for container in $(engine ps -q 2>/dev/null); do engine healthcheck run "$container" >/dev/null 2>&1 || true; done
  done &
  children+=($!)
fi

DOCKER_HOST=unix://$dir/engine.sock REAGENT_COMPOSE=$compose REAGENT_ENGINE=$dir/engine.sock "$@"
