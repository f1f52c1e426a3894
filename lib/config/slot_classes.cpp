#include "config/slot_classes.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace esper::config {
namespace {

bool digits_only(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool is_slot_id(std::string_view id) {
  const std::size_t c = id.find('c');
  return id.starts_with('r') && c != std::string_view::npos && digits_only(id.substr(1, c - 1)) &&
         digits_only(id.substr(c + 1));
}

std::optional<SlotClasses> read_slot_classes(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || !is_slot_id(text.substr(0, equals))) return std::nullopt;
  SlotClasses read{std::string(text.substr(0, equals)), {}};
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < 0 || value > SlotClasses::kMostClasses)
      return std::nullopt;
    read.classes.push_back(value);
    begin = end + 1;
  }
  return read;
}

std::vector<AbsentClass> absent_classes(const std::vector<std::string>& lines, std::int64_t num_classes) {
  std::vector<AbsentClass> absent;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto read = read_slot_classes(lines[i]);
    if (!read) continue;
    std::set<std::int64_t> told;
    for (const std::int64_t one : read->classes) {
      if (one < num_classes || !told.insert(one).second) continue;
      absent.push_back({i, "there is no class " + std::to_string(one) + "; the data have " +
                               std::to_string(num_classes) + ", 0 to " + std::to_string(num_classes - 1)});
    }
  }
  return absent;
}

}  // namespace esper::config
