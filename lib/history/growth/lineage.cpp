#include "history/growth/lineage.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "history/growth/run_history.h"

namespace esper::history {
namespace {

namespace fs = std::filesystem;

// Forks of forks; deeper ones are cut off, and folders that name each other end here.
constexpr std::size_t kDeepest = 32;

std::optional<GrowthRecord> fork_record(const GrowthHistory& history) {
  const auto& records = history.records();
  const auto found = std::ranges::find(records, "forked", &GrowthRecord::what);
  return found == records.end() || found->parent.empty() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> places_of(const std::string& parent, const std::string& fork) {
  const auto name = fs::path(parent).lexically_normal();
  const auto last = name.has_filename() ? name.filename() : name.parent_path().filename();
  std::error_code ignored;
  const auto here = fs::absolute(fork, ignored).lexically_normal();
  const auto beside = (here.has_filename() ? here.parent_path() : here.parent_path().parent_path()) / last;
  return {parent, beside.string()};
}

bool knows_checkpoint(const GrowthHistory& history, const std::string& name) {
  return std::ranges::any_of(history.records(), [&](const GrowthRecord& record) {
    return record.what == "checkpoint" && record.checkpoint == name;
  });
}

// Does the run stand, where the fork left it, as the fork says? Where its own records leave that open, the checkpoint's
// name has to do.
bool is_the_parent(const GrowthHistory& parent, const GrowthRecord& forked) {
  auto [topology, starts_known, doubt, gaps] = parent.replay(forked.place);
  if (!forked.snapshot || !starts_known || !doubt.empty()) return knows_checkpoint(parent, forked.checkpoint);
  leave_out(topology, forked);
  return topology == *forked.snapshot;
}

std::optional<RunHistory> read_parent(const GrowthRecord& forked, std::string& run, std::string& why_not) {
  for (const auto& place : places_of(forked.parent, run)) {
    std::error_code ignored;
    if (fs::equivalent(place, run, ignored)) {  // runs of one name in folders of their own
      if (why_not.empty()) why_not = place + " is the fork itself";
      continue;
    }
    try {
      auto read = read_run_history(place);
      if (!is_the_parent(read.history, forked)) {
        why_not = place + " does not contain the network that " + run + " was forked with";
        continue;
      }
      run = place;
      return read;
    } catch (const base::Error& error) {
      if (why_not.empty()) why_not = error.what();
    }
  }
  return std::nullopt;
}

std::string lost_before(const std::string& fork, const GrowthRecord& forked) {
  return fork + " was forked from " + forked.parent + " at " + place_text(forked.place) +
         ", and earlier events are recorded there; ";
}

}  // namespace

Lineage read_lineage(const std::string& run, GrowthHistory history) {
  Lineage lineage{std::move(history), {}, {}, {}};
  std::string folder = run;
  for (auto forked = fork_record(lineage.history); forked;) {
    const std::string lost = lost_before(folder, *forked);
    lineage.unread = Ancestor{forked->parent, forked->place, 0};
    if (lineage.ancestors.size() == kDeepest) {
      lineage.gaps.push_back(fmt::format("{}it is not read: the limit for chains of forks is {} runs", lost, kDeepest));
      break;
    }
    std::string why_not;
    const auto parent = read_parent(*forked, folder, why_not);
    if (!parent) {
      lineage.gaps.push_back(lost + "it cannot be read: " + why_not);
      break;
    }
    const std::size_t known = lineage.history.records().size();
    if (!lineage.history.begin_with(parent->history, forked->place)) {
      lineage.gaps.push_back(lost + "it is not read: the journals of the runs are too long together");
      break;
    }
    lineage.ancestors.push_back({folder, forked->place, lineage.history.records().size() - known});
    lineage.unread.reset();
    for (const auto& gap : parent->gaps) lineage.gaps.push_back("in " + folder + ": " + gap);
    forked = fork_record(parent->history);
  }
  return lineage;
}

}  // namespace esper::history
