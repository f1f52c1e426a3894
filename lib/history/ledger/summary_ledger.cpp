#include "history/ledger/summary_ledger.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/text/json_fields.h"
#include "history/ledger/recorded_number.h"
#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"

namespace esper::history {

using base::known_time_at;
using base::member;
using base::Owner;
using base::text_at;
using nlohmann::json;

namespace {

constexpr std::uintmax_t kLargestSummary = 16 << 20;

// Of base::rfc3339()'s form: such times sort as texts.
bool is_time_of_day(std::string_view text) {
  static const std::string kForm = base::rfc3339({});
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  return std::ranges::equal(text, kForm,
                            [&](char letter, char form) { return is_digit(form) ? is_digit(letter) : letter == form; });
}

}  // namespace

bool SummaryLedger::has_times_of_day() const { return is_time_of_day(from) && is_time_of_day(until) && from <= until; }

SummaryLedger read_summary_ledger(const std::filesystem::path& path, std::vector<std::string>& gaps) {
  SummaryLedger summary;
  json parsed;
  storage::ConfinedFileSystem files(path.parent_path().string(), storage::Owner::kAnyone);
  const auto kind = files.kind_of(path.string());
  if (kind == base::PathKind::kNothing) return {};
  if (kind != base::PathKind::kFile) {
    gaps.push_back("summary.json is not a file and was ignored");
    return {};
  }
  try {
    const auto bytes = storage::read_file(files, path.string(), kLargestSummary);
    parsed = json::parse(storage::text_of(bytes), nullptr, /*allow_exceptions=*/false);
  } catch (const storage::UnsafePath&) {
    throw;
  } catch (const base::IoError& error) {
    gaps.push_back(std::string("summary.json was ignored: ") + error.what());
    return {};
  }
  if (!parsed.is_object()) {
    gaps.push_back("summary.json is damaged and was ignored");
    return {};
  }
  const json& ledger = member(parsed, "ledger");
  if (ledger.is_null()) return {};  // of a version that kept no account
  constexpr std::chrono::milliseconds kMs(1);
  const auto wall_ms = known_time_at(ledger, "wall_ms", kMs);
  if (!wall_ms) {
    gaps.push_back(ledger.is_object() ? "the wall time in summary.json is damaged and was ignored"
                                      : "the ledger in summary.json is damaged and was ignored");
    return {};
  }
  const json& times = member(ledger, "ms");
  if (!times.is_object()) {
    gaps.push_back("the times in summary.json are damaged and were ignored");
    return {};
  }
  std::size_t damaged = 0, damaged_counts = 0;
  for (const auto& [owner, name] : names(Owner{})) {
    const auto ms = known_time_at(times, std::string(name), kMs);
    if (!ms && !member(times, std::string(name)).is_null()) ++damaged;
    summary.ms[index_of(owner)] = ms.value_or(0);
  }
  note_damaged(damaged, "time", "summary.json", gaps);
  summary.from = text_at(ledger, "from");
  summary.until = text_at(ledger, "until");
  summary.wall_ms = *wall_ms;
  summary.status = text_at(parsed, "status");
  summary.skipped_steps = recorded_count(parsed, "skipped_steps", damaged_counts);
  summary.steps = recorded_count(parsed, "steps", damaged_counts);
  note_damaged(damaged_counts, "count", "summary.json", gaps);
  return summary;
}

}  // namespace esper::history
