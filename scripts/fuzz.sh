#!/usr/bin/env bash
# Builds the fuzz targets (clang, address and undefined behaviour sanitizers) and runs each: scripts/fuzz.sh [SECONDS each, 600] [TARGET...]
# Inputs that were worth keeping, and crashes, go to build/fuzz/corpus/TARGET and build/fuzz/crashes; replay one by replay_TARGET FILE.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
targets=${*:2}
targets=${targets:-torch_file pickle safetensors index config package plan png jpeg webp tokenizer prompts settings bits}
cmake --preset fuzz >/dev/null
mkdir -p build/fuzz/crashes
for target in $targets; do
  cmake --build build/fuzz --target "fuzz_$target" "replay_$target"
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  build/fuzz/tests/fuzz/replay_"$target" --corpus "$corpus"
  echo "== $target, $seconds s"
  build/fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4000000 \
    -artifact_prefix=build/fuzz/crashes/ -print_final_stats=1 \
    "$corpus" $([ -d "tests/fuzz/corpus/$target" ] && echo "tests/fuzz/corpus/$target") 2>&1 | grep -vE "^#[0-9]+.*(NEW|REDUCE|pulse|RELOAD)"
done
