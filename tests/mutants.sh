#!/usr/bin/env bash
# Breaks the planner in one small way after the other (cargo-mutants) and lets its unit tests look for it.
# Ends with 1 when a mutant survives that tests/mutants.md does not list, or, after a run over all of them,
# when one that is listed there survives no more. It takes hours, so it is no step of CI:
#
#   tests/mutants.sh                                    all of src/decide
#   tests/mutants.sh --file src/decide/soak.rs          one file
#   tests/mutants.sh --shard 0/8                        an eighth of all
#
# cargo install cargo-mutants --locked; CARGO_MUTANTS names another binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

ended=0
"${CARGO_MUTANTS:-cargo-mutants}" mutants --package decide --profile mutants --cargo-arg=--lib --timeout 40 \
    --no-shuffle --output "$out" "$@" || ended=$?
case $ended in
0 | 2 | 3) ;; # all caught; some missed; some ran for ever, which is caught too
*) exit "$ended" ;;
esac

# As in the list: without the line, which moves with every edit.
survivors() {
    sed 's/:[0-9]*:[0-9]*: /: /' "$out/mutants.out/missed.txt" | sort
}

listed() {
    sed -n 's/^- `\(.*\)` — .*$/\1/p' tests/mutants.md | sort
}

unlisted=$(comm -23 <(survivors) <(listed))
if [ -n "$unlisted" ]; then
    printf 'survived, and tests/mutants.md does not say why:\n%s\n' "$unlisted" >&2
    exit 1
fi
gone=$(comm -13 <(survivors) <(listed))
if [ $# -eq 0 ] && [ -n "$gone" ]; then
    printf 'listed in tests/mutants.md, but it survives no more:\n%s\n' "$gone" >&2
    exit 1
fi
