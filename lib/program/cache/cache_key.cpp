#include "program/cache/cache_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "storage/checksum.h"

namespace esper::program {

std::string cache_key(const KeyParts& parts) {
  std::string text;
  // Each part with its length, so that no two sets of parts make the same text.
  for (const auto& part : {std::to_string(kRecipeSetVersion), parts.torch_version, parts.device, parts.instruction_set,
                           std::to_string(parts.threads), parts.mode, parts.recipe, parts.program}) {
    text += fmt::format("{}:{}", part.size(), part);
  }
  if (!parts.numerics.empty()) text += parts.numerics;
  const auto first = storage::hash64(storage::bytes_of(text));
  const auto second = storage::hash64(storage::bytes_of("esper" + text));
  return storage::hex64(first) + storage::hex64(second);
}

std::string cpu_instruction_set() {
  std::ifstream file("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string name = line.substr(0, line.find_first_of("\t:"));
    // x86 says "flags", ARM "Features" and "CPU part".
    if (name == "vendor_id" || name == "cpu family" || name == "model" || name == "flags" || name == "Features" ||
        name == "CPU implementer" || name == "CPU part") {
      text += line + "\n";
    }
  }
  return text.empty() ? "unknown" : text;
}

bool is_cache_key(const std::string& text) {
  return text.size() == 32 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace esper::program
