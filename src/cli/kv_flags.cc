#include "cli/kv_flags.h"

#include <fmt/format.h>

#include "cli/flag_list.h"

namespace nextscale {
namespace {

// "10%" or a number of tokens.
Status ParseBudget(const std::string& text, KvOptions& kv) {
  std::string_view number = text;
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  int64_t tokens = 0;
  const bool good =
      percent ? ParseWhole(number, kv.budget_percent) && kv.budget_percent > 0 && kv.budget_percent <= 100
              : ParseWhole(number, tokens) && tokens > 0;
  if (!good)
    return CallError("--kv-budget " + text,
                     "expected a percentage above 0 and at most 100, or a number of tokens",
                     "e.g. --kv-budget 10% or --kv-budget 650");
  if (!percent) kv.budget_tokens = tokens;
  return absl::OkStatus();
}

bool SetPooling(std::string_view text, KvOptions& kv) {
  const StatusOr<Pooling> pooling = ParsePooling(text);
  if (pooling.ok()) kv.pooling = *pooling;
  return pooling.ok();
}

// window=9,pooling=max,...: -> whether the name is known and the value good.
bool SetOption(std::string_view name, std::string_view value, KvOptions& kv) {
  const auto whole = [&](std::optional<int64_t>& field, int64_t least) {
    int64_t number = 0;
    if (!ParseWhole(value, number) || number < least) return false;
    field = number;
    return true;
  };
  std::optional<int64_t> number;
  if (name == "window") return whole(kv.window, 1);
  if (name == "refiner-start") return whole(kv.refiner_start, 0);
  if (name == "decay") return whole(kv.decay, 0);
  if (name == "pooling") return SetPooling(value, kv);
  if (name == "sinks" && whole(number, 0)) return kv.sinks = *number, true;
  if (name == "beta" && whole(number, 1)) return kv.beta = *number, true;
  if (name == "start" && whole(number, 0)) return kv.reference_start = *number, true;
  if (name == "heads" && value == "even") return kv.even_heads = true, true;
  return false;
}

}  // namespace

void AddKvFlags(CLI::App& app, KvFlags& f) {
  app.add_option("--kv", f.policy,
                 "what the cache of keys and values keeps of the scales before: full, sliding-window, "
                 "streaming-llm, snapkv, pyramidkv, scalekv, scalekv-reference")
      ->capture_default_str()
      ->type_name("POLICY");
  app.add_option("--kv-budget", f.budget,
                 "of a policy: 10% of the full cache's tokens, or a number of tokens a layer (default: 10%)")
      ->type_name("B");
  app.add_option("--kv-plan", f.plan,
                 "for scalekv: a plan of `calibrate`, or a published budget file (default: the package's)")
      ->type_name("FILE");
  app.add_option("--kv-type", f.type, "type of what is cached (default: the transformer's)")
      ->type_name("TYPE");
  app.add_option("--kv-options", f.options,
                 "of the policies, NAME=VALUE with commas between: window, pooling (average, max, none), "
                 "refiner-start, decay, heads=even (whatever the plan says), sinks (streaming-llm), beta "
                 "(pyramidkv), start (scalekv-reference)")
      ->type_name("LIST");
}

StatusOr<KvOptions> ParseKvFlags(const KvFlags& f) {
  KvOptions kv;
  NS_ASSIGN_OR_RETURN(kv.policy, ParseKvPolicy(f.policy));
  if (!f.type.empty()) return NotYet("--kv-type");
  if (!f.budget.empty()) NS_RETURN_IF_ERROR(ParseBudget(f.budget, kv));
  for (const std::string_view item : SplitList(f.options)) {
    const size_t equals = item.find('=');
    if (equals != std::string_view::npos && SetOption(item.substr(0, equals), item.substr(equals + 1), kv))
      continue;
    return CallError(fmt::format("--kv-options {}", f.options),
                     fmt::format("'{}' is not an option of a policy with a good value", item),
                     "e.g. --kv-options window=16,pooling=max; see --help");
  }
  return kv;
}

}  // namespace nextscale
