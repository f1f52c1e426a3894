#pragma once
// Calls and numbers as Python text. Any thread.

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/joined.h"
#include "base/text/printable.h"

namespace esper::porting {

// "Lora(64, 8)": the arguments as numbers; what else there is of them, as "alpha=0.5", comes last.
inline std::string python_call(std::string_view name, const std::vector<std::int64_t>& numbers,
                               const std::vector<std::string>& named = {}) {
  std::vector<std::string> arguments;
  for (const auto number : numbers) arguments.push_back(std::to_string(number));
  arguments.insert(arguments.end(), named.begin(), named.end());
  return fmt::format("{}({})", name, base::joined(arguments));
}

// A text as a literal: JSON's are Python's too. Of bytes that are no UTF-8 the text has the escapes (base::utf8_text).
inline std::string python_literal(const std::string& text) { return nlohmann::json(base::utf8_text(text)).dump(); }

// "dropout=0.1", or nothing where it has the value that the class has anyway.
inline std::vector<std::string> dropout_argument(double dropout) {
  return dropout > 0 ? std::vector{fmt::format("dropout={}", dropout)} : std::vector<std::string>{};
}

// "seed_0001.up" of "seed-0001.up"; what is not a seed's keeps its id.
inline std::string python_name(std::string id) {
  constexpr std::string_view kSeed = "seed-";
  if (id.starts_with(kSeed)) id[kSeed.size() - 1] = '_';
  return id;
}

}  // namespace esper::porting
