#!/usr/bin/env bash
# The simulator in release, on every core: many seeded worlds of sixty days each, how fast they ran, and how
# often each reason, action and fault occurred. Ends with 1 at the first world that breaks an invariant, and
# tells it as a short story.
#
#   tests/sim.sh --worlds 20000 --seed 1 [--days 60] [--jobs 2]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --locked --quiet --package sim
exec "${CARGO_TARGET_DIR:-target}/release/sim" worlds "$@"
