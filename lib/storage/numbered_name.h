#pragma once
// The names of the earlier files of one that is continued in a new file: "journal-000001", "telemetry-000001.jsonl".
// Any thread.

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace esper::storage {

struct NumberedName {
  static constexpr std::uint64_t kLargest = 999'999'999;
  std::string stem, ending;  // "telemetry", ".jsonl"

  // number: from 1.
  std::string of(std::uint64_t number) const { return fmt::format("{}-{:06}{}", stem, number, ending); }

  // 0 for any other name, and for numbers above kLargest: a file from elsewhere may claim any.
  std::uint64_t number_of(std::string_view name) const {
    if (!name.starts_with(stem) || name.size() <= stem.size()) return 0;
    std::uint64_t number = 0;
    std::from_chars(name.data() + stem.size() + 1, name.data() + name.size(), number);
    return number <= kLargest && name == of(number) ? number : 0;
  }
};

}  // namespace esper::storage
