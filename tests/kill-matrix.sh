#!/usr/bin/env bash
# Plants one bug after the other and lets the simulator look for it: a row for each (name, invariant that
# caught it, seed, worlds, seconds) and, last, `killed K of K`. Ends with 1 when one survives.
#
#   tests/kill-matrix.sh [--worlds 4000] [--days 60] [--jobs 2]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --locked --quiet --package sim
exec "${CARGO_TARGET_DIR:-target}/release/sim" kill-matrix "$@"
