#!/usr/bin/env bash
# Compares cache policies and prunings on the bundled model and writes docs/results.md and its plots, half an hour on
# two cores: scripts/results.sh [PROGRAM (default: built here, build/release)] [PROMPTS (models/prompts-eval.txt)]
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/release/src/cli/nextscale}
model=models/nextscale-emoji.safetensors
prompts=${2:-models/prompts-eval.txt}
if [ $# -eq 0 ]; then
  cmake --preset release -DNEXTSCALE_BUILD_TESTS=OFF -DNEXTSCALE_BUILD_BENCHES=OFF >/dev/null
  cmake --build --preset release
fi
figures=docs/images/results
tables=$(mktemp -d)
trap 'rm -r "$tables"' EXIT

common=(--model "$model" --prompts "$prompts" --seed 0 --batch 8)
policies=sliding-window,streaming-llm,snapkv,pyramidkv,scalekv,scalekv-reference
ratios='5=0.25,6=0.4;5=0.4,6=0.5;5=0.5,6=0.75;5=0.5,6=1'
begin=$SECONDS
"$program" eval "${common[@]}" --kv $policies --kv-budget 4%,10%,20%,50% --kv-options start=0 --figures "$figures" >"$tables/policies"
"$program" eval "${common[@]}" --kv full,scalekv --kv-budget 20% --prune-ratios "$ratios" >"$tables/prunings"
took=$(((SECONDS - begin + 59) / 60))

{
  cat <<TEXT
# Cache policies and prunings on the bundled model

Written by \`scripts/results.sh\` as it came out: $(wc -l <"$prompts") prompts of [$(basename "$prompts")](../$prompts), one picture of 256 x 256 each, seeds from 0, eight at once, the model's own settings, bf16. $("$program" --version | grep '^processor'), $(nproc) threads; $took minutes. Columns: [eval.md](eval.md).

The model is small (12 layers, 7 maps, 265 tokens before the last map): these numbers compare settings with each other here, and don't foretell those of Infinity-2B. A budget of 4% is 10 tokens a layer. scalekv-reference runs with \`start=0\`: by its own default it trims a layer that has exceeded 650 tokens, which none does here. Times are of one run on a machine that may have had other work.

## Policies and budgets

TEXT
  cat "$tables/policies"
  cat <<'TEXT'

![PSNR against the cache held, a line a policy](images/results/psnr-by-kv.svg)

Quartiles: [PSNR](images/results/psnr.svg), [SSIM](images/results/ssim.svg), [equal bits](images/results/bits.svg).

## Pruning of the last two maps

`5=0.4,6=0.5` leaves 40% of the tokens out at scale 5, half of them at scale 6; 1 skips the scale.

TEXT
  cat "$tables/prunings"
} >"$tables/results.md"
mv "$tables/results.md" docs/results.md
echo "docs/results.md"
