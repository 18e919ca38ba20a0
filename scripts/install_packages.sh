#!/usr/bin/env bash
# Installs what nextscale builds with, all from Debian 12. Needs root; does nothing if everything is there.
set -euo pipefail
packages=(
  g++ cmake ninja-build git pkg-config
  libdnnl-dev ocl-icd-opencl-dev libhwy-dev libsentencepiece-dev librandom123-dev libabsl-dev libfmt-dev
  nlohmann-json3-dev libcli11-dev libpng-dev libjpeg62-turbo-dev libwebp-dev zlib1g-dev libssl-dev
)
# Only the tests and checks need these.
if [ "${1:-}" = "--tests" ]; then
  packages+=(libgtest-dev libgmock-dev libbenchmark-dev clang-format clang-tidy python3-minimal)
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "error: these packages are missing: ${missing[*]}" >&2
  echo "  try: run this as root, or apt-get install them" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
