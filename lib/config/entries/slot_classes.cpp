#include "config/entries/slot_classes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text/printable.h"
#include "leyline/slot_id.h"

namespace esper::config {

base::Expected<SlotClasses> SlotClasses::parse(std::string_view text) {
  const auto wrong = [&] {
    return base::failure(base::in_quotes(text) + " is not a slot with its classes, like r0c1=0,1,2");
  };
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || !leyline::is_slot_id(text.substr(0, equals))) return wrong();
  SlotClasses read{std::string(text.substr(0, equals)), {}};
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < 0 || value > kMostClasses) return wrong();
    read.classes.push_back(value);
    begin = end + 1;
  }
  return read;
}

std::vector<AbsentClass> absent_classes(const std::vector<Entry<SlotClasses>>& lines, std::int64_t num_classes) {
  std::vector<AbsentClass> absent;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i]) continue;
    std::set<std::int64_t> reported;
    for (const std::int64_t one : lines[i]->classes) {
      if (one < num_classes || !reported.insert(one).second) continue;
      absent.push_back(
          {i, fmt::format("there is no class {}; the data have {}, 0 to {}", one, num_classes, num_classes - 1)});
    }
  }
  return absent;
}

}  // namespace esper::config
