#include "tolaria/state/reaction_record.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "base/text/json_struct.h"
#include "history/growth/growth_record.h"
#include "storage/journal/journal.h"

namespace esper::tolaria {

constexpr auto json_members(const ReactionRecord*) {
  using base::json_member;
  using R = ReactionRecord;
  return std::tuple{json_member("number", &R::number), json_member("reaction", &R::reaction),
                    json_member("step", &R::step), json_member("value", &R::value),
                    json_member("in_a_row", &R::in_a_row)};
}

namespace {

using nlohmann::json;

bool is_sound(const ReactionRecord& record) {
  const bool is_known = record.reaction != Reaction::kStop && record.number > 0 && record.number <= kMostCount &&
                        record.step >= 0 && record.in_a_row >= 0;
  if (record.reaction == Reaction::kLowerRate) return is_known && is_rate(record.value);
  if (record.reaction == Reaction::kSplitBatches) return is_known && is_parts(record.value);
  if (record.reaction != Reaction::kSearch) return is_known;
  return is_known && record.value >= 1 && record.value <= static_cast<double>(kMostCount);
}

}  // namespace

std::string reaction_json(const ReactionRecord& reaction) {
  json record = base::to_json(reaction);
  record["what"] = "reaction";
  return base::json_line(record);
}

std::string reactions_over_json() { return base::json_line({{"what", "reaction"}, {"reaction", "over"}}); }

std::vector<ReactionRecord> read_reactions(base::FileSystem& files, const std::string& journal_path,
                                           std::int64_t step) {
  std::vector<ReactionRecord> reactions;
  const auto begins = [&](std::string_view text) {
    const auto segment = history::read_segment(text);
    return segment && segment->place.step <= step;
  };
  storage::scan_journal_from(files, journal_path, begins, [&](std::string_view text) {
    if (text.find(R"("reaction")") == std::string_view::npos) return;
    json record = json::parse(text, nullptr, false);
    if (!record.is_object() || record.value("what", json()) != "reaction") return;
    record.erase("what");
    if (record.value("reaction", json()) == "over") reactions.clear();
    const auto reaction = base::from_json<ReactionRecord>(record);
    if (reaction && is_sound(*reaction)) reactions.push_back(*reaction);
  });
  return reactions;
}

}  // namespace esper::tolaria
