// What a checkpoint is, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/model_info.h"

namespace nextscale {

// Parts with files, types and shapes; what pairs with them; options; keys passed over; memory for typical
// settings. Errors: of ReadModelInfo.
StatusOr<nlohmann::ordered_json> DescribeModel(const ModelFiles& files, int threads);

// The same for people.
std::string DescriptionText(const nlohmann::ordered_json& description);

}  // namespace nextscale
