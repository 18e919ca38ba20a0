#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors, and runs every test; then the sanitizer build and its tests, the format check
# and clang-tidy. What CI runs. ctest prints the closing lines.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_packages.sh --tests
scripts/check_format.sh
cmake --preset ci >/dev/null
cmake --build --preset ci
cmake --preset dev -DNEXTSCALE_BUILD_BENCHES=OFF -DNEXTSCALE_WERROR=ON >/dev/null
cmake --build --preset dev
ctest --test-dir build/dev --output-on-failure -L sanitizer
ctest --test-dir build/ci --output-on-failure
