#!/usr/bin/env bash
# Python's zoneinfo with the IANA release that jiff carries, in a venv under target/oracle: the release of the
# machine's own zones is whatever the machine was last updated to. PyPI's 2026.5 is IANA's 2026e.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

TZDATA=2026.5
venv="$PWD/target/oracle"
if [ "$("$venv/bin/python" -c 'from importlib.metadata import version; print(version("tzdata"))' 2>/dev/null)" != "$TZDATA" ]; then
    python3 -m venv --clear "$venv" || { echo "python3 cannot make a venv; on Debian: apt-get install python3-venv" >&2; exit 1; }
    "$venv/bin/pip" install --quiet "tzdata==$TZDATA"
fi
