#!/usr/bin/env bash
# clang-tidy's verdict (.clang-tidy: a short list of checks that find bugs) on every source file: scripts/check_tidy.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci}
git ls-files 'src/*.cc' | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet 2> >(grep -v 'warnings generated\|Suppressed\|Use -header-filter' >&2)
