#!/usr/bin/env bash
# Installs what is missing, builds, and makes a picture with the bundled model: scripts/run.sh ["PROMPT"] [generate's other flags]
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_packages.sh
cmake --preset release -DNEXTSCALE_BUILD_TESTS=OFF -DNEXTSCALE_BUILD_BENCHES=OFF >/dev/null
cmake --build --preset release
mkdir -p out
prompt=${1:-red apple, fluent 3d style}
build/release/src/cli/nextscale generate --prompt "$prompt" --output out/picture.png "${@:2}"
