#!/usr/bin/env bash
# Fuzz targets under libFuzzer, one after the other: every parser of foreign text, for some time each. Ends with 1 at
# the first input that breaks what must hold, and says where it lies; else puts what was found, as few files as reach
# as far, into tests/fuzz/corpus. It takes hours, so it is no step of CI; `cargo test --test replay fuzz` replays the corpus.
#
#   tests/fuzz.sh                        every target, 600 seconds each
#   tests/fuzz.sh --seconds 60 yaml hcl  these two, a minute each
#   tests/fuzz.sh --seconds 0 yaml       only makes its corpus small again
#
# rustup toolchain install nightly; cargo install cargo-fuzz --locked --root target/tools
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH="$PWD/target/tools/bin:$PATH"
seconds=600
if [ "${1:-}" = --seconds ]; then
    seconds=$2
    shift 2
fi
built="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
here="$PWD/tests/fuzz"
room="$built/room"
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(sed -n 's/^name = "\(.*\)"$/\1/p' "$here/Cargo.toml" | grep -vx fuzz)
limits=(-timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -artifact_prefix="$room/")

# No sanitizer: there is no unsafe code of our own.
cargo +nightly fuzz build --fuzz-dir "$here" --target-dir "$built" --sanitizer none
COLDFRAME_FUZZ_SEEDS="$room/seeds" cargo test --locked --quiet --test replay -- what_fuzzing_begins_with_holds

# On a stack as small as a thread of the runtime has.
run() { # target, its further arguments
    ulimit -s 2048
    "$built/x86_64-unknown-linux-gnu/release/$1" "${limits[@]}" "${@:2}"
}

# What was named by hand stays; of the rest the twenty that reach most, which the merge writes first.
smaller() { # target
    local kept="$room/kept/$1" saved="$here/corpus/$1"
    rm -rf "$kept"
    mkdir -p "$kept"
    find "$saved" -type f -name '*-*' -exec cp -t "$kept" {} +
    (run "$1" -use_counters=0 -set_cover_merge=1 "$kept" "$saved" "$room/found/$1" >"$room/$1.merge.log" 2>&1)
    find "$kept" -type f ! -name '*-*' -printf '%T@ %p\n' | sort -n | tail -n +21 | cut -d' ' -f2- | xargs -r rm
    rm -rf "$saved"
    cp -r "$kept" "$saved"
}

for target in "${targets[@]}"; do
    mkdir -p "$room/found/$target" "$room/seeds/$target" "$here/corpus/$target"
    if [ "$seconds" -gt 0 ]; then
        (run "$target" -max_total_time="$seconds" -dict="$here/dict/$target.dict" -artifact_prefix="$room/$target-" \
            "$room/found/$target" "$here/corpus/$target" "$room/seeds/$target")
    fi
    smaller "$target"
done
