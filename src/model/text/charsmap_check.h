// The sentencepiece library trusts the normalisation table of a model: a double-array trie (darts-clone)
// whose places and values it follows without looking. A damaged one is found out here, before the library
// sees it.
#pragma once

#include <string>
#include <string_view>

namespace nextscale {

// `model`: the bytes of spiece.model (a protocol buffer). -> what is wrong with its normalisation tables;
// empty if nothing is, or if it has none.
std::string CharsMapProblem(std::string_view model);

}  // namespace nextscale
