// Numbers as people and shells read them.
#pragma once

#include <cstdint>
#include <string>

namespace nextscale {

std::string HumanBytes(int64_t bytes);  // "1.25 GiB"
// As one word of a POSIX shell, quoted if it needs to be.
std::string ShellQuoted(const std::string& text);
// The shortest decimal that reads back as this float, as a double: 0.97f is 0.97, not 0.9700000286.
double ShortDouble(float value);

}  // namespace nextscale
