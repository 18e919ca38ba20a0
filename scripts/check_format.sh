#!/usr/bin/env bash
# clang-format's verdict on every source file; --fix mends them.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run --Werror)
[ "${1:-}" = "--fix" ] && mode=(-i)
git ls-files '*.cc' '*.h' | xargs clang-format "${mode[@]}"
