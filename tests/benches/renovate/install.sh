#!/bin/sh
# Installs Renovate and the Node.js that it wants into target/renovate, for `cargo bench --bench renovate`.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../../.." && pwd)
into="$here/target/renovate"
packages='node@24.11.1 renovate@44.121.2'
[ "$(cat "$into/stamp" 2>/dev/null || true)" != "$packages" ] || exit 0
command -v npm >/dev/null 2>&1 || { echo 'npm is missing; install Node.js' >&2; exit 1; }
mkdir -p "$into"
echo '{ "private": true }' >"$into/package.json"
cd "$into"
# shellcheck disable=SC2086 # a list of words
npm install --save-exact --no-audit --no-fund --loglevel=error $packages >&2
printf '%s\n' "$packages" >stamp
