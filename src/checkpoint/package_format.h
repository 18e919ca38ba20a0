// How a package's tensors and metadata are named; shared by its reader and its writer.
#pragma once

#include "checkpoint/model_files.h"
#include "checkpoint/stored_tensors.h"

namespace nextscale {

inline constexpr std::string_view kTransformerPrefix = "transformer.", kVaePrefix = "vae.",
                                  kTextPrefix = "text.";
inline constexpr std::string_view kTokenizerTensor = "tokenizer.spiece", kPlanTensor = "plan.json";
// In ModelFiles::options, the schedule of training.
inline constexpr std::string_view kTrainedPixels = "trained_pixels";
inline constexpr int kPackageVersion = 1;

bool IsPackage(const StoredFile& file);
// Errors: FileError for a version that isn't known or metadata that isn't as stated.
Status ReadPackage(StoredFile file, ModelFiles& files);

}  // namespace nextscale
