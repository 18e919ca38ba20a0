#!/usr/bin/env bash
# Installs a build under a temporary prefix, builds a program of its own against it (tests/install) and makes the same picture with
# both programs: scripts/check_install.sh [BUILD FOLDER, build/ci]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --build "$build"
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S tests/install -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build"
cd "$work" # nothing is found by a path of the checkout
prefix/bin/nextscale generate -p "red apple, fluent 3d style" -s 7 --cfg 3 --tau 0.7 --top-p 0.97 --top-k 900 --quiet -o installed.png --no-metadata
build/draw prefix/share/nextscale/models/nextscale-emoji.safetensors library.png
cmp installed.png library.png
echo "check_install: the installed program and a program on the installed library draw the same picture"
