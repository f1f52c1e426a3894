#include "history/ledger/recorded_number.h"

#include <fmt/core.h>

#include "base/text/json_fields.h"

namespace esper::history {

using base::member;
using base::number_at;
using nlohmann::json;

std::optional<std::int64_t> recorded_count(const json& object, const std::string& name, std::size_t& damaged) {
  if (member(object, name).is_null()) return std::nullopt;
  const auto count = number_at<std::int64_t>(object, name);
  if (count && *count >= 0) return count;
  ++damaged;
  return std::nullopt;
}

void note_damaged(std::size_t count, std::string_view what, std::string_view file, std::vector<std::string>& gaps) {
  if (count == 0) return;
  gaps.push_back(fmt::format("{} {}{} in {} {} damaged and {} ignored", count, what, count == 1 ? "" : "s", file,
                             count == 1 ? "is" : "are", count == 1 ? "was" : "were"));
}

}  // namespace esper::history
