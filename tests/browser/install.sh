#!/bin/sh
# Installs what `cargo test --test browser` drives: Chromium by apt-get where it is missing, and
# playwright-core and axe-core into one folder (argument, else $COLDFRAME_BROWSER, else target/browser). Wants node
# with npm. Quick when all is there.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=${1:-${COLDFRAME_BROWSER:-$here/../../target/browser}}
mkdir -p "$folder"
folder=$(CDPATH='' cd -- "$folder" && pwd)

# One at a time; the lock goes with the process.
if command -v flock >/dev/null 2>&1 && [ -z "${COLDFRAME_BROWSER_LOCKED:-}" ]; then
    COLDFRAME_BROWSER_LOCKED=1 exec flock "$folder/.lock" "$0" "$folder"
fi

say() { echo "browser: $*" >&2; }

"$here/../debian.sh" "${CHROMIUM:-chromium}" chromium fonts-dejavu-core

packages='playwright-core@1.65.1 axe-core@4.14.1'
if [ "$(cat "$folder/node.stamp" 2>/dev/null || true)" != "$packages" ]; then
    command -v npm >/dev/null 2>&1 || { say 'npm is missing; install Node.js 20 or newer'; exit 1; }
    say "installing $packages"
    rm -rf "$folder/node"
    mkdir -p "$folder/node"
    echo '{ "private": true }' >"$folder/node/package.json"
    (cd "$folder/node" && npm install --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error $packages >&2)
    printf '%s\n' "$packages" >"$folder/node.stamp"
fi

# What is there must also start. The first start reads some hundred megabytes: on a cold disk it has
# taken minutes, which no test has to wait for.
started() {
    profile=$(mktemp -d)
    code=0
    timeout -k 5 "$1" "${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage \
        --user-data-dir="$profile" --dump-dom about:blank >"$folder/start.log" 2>&1 || code=$?
    rm -rf "$profile"
    return "$code"
}
if ! started 120 && ! started 240; then
    say "Chromium does not start:"
    tail -20 "$folder/start.log" >&2
    exit 1
fi
say "ready in $folder"
