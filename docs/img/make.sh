#!/bin/sh
# Remakes the pictures of this folder from a real run of the sandbox: demo.svg is the terminal,
# dashboard.png the dashboard, both in the middle of the story. Look at them before you commit them.
#   docs/img/make.sh [PROGRAM]        default: target/debug/coldframe
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
program=${1:-$root/target/debug/coldframe}
[ -x "$program" ] || { echo "$program is not there: cargo build, or name the program" >&2; exit 1; }
command -v script >/dev/null || { echo 'script (of util-linux) is missing: it makes the terminal' >&2; exit 1; }
export COLDFRAME_BROWSER="${COLDFRAME_BROWSER:-$root/target/browser}"
"$root/tests/browser/install.sh"
exec node "$here/make.mjs" "$program" "$here"
