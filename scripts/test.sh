#!/usr/bin/env bash
# Runs every check: formatting, a build with warnings as errors, clang-tidy, the tests of what reads untrusted input under address and
# undefined-behaviour sanitizers, and all tests. Installs what is missing. What CI runs; ctest prints the closing lines.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_packages.sh --tests
scripts/check_format.sh
cmake --preset ci >/dev/null
cmake --build --preset ci
scripts/check_tidy.sh build/ci
cmake --preset dev -DNEXTSCALE_BUILD_BENCHES=OFF -DNEXTSCALE_WERROR=ON >/dev/null
cmake --build --preset dev --target sanitizer_tests
ctest --test-dir build/dev --output-on-failure -L sanitizer
ctest --test-dir build/ci --output-on-failure
