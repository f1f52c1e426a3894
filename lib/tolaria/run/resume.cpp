#include "tolaria/run/resume.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text/joined.h"
#include "storage/journal/journal.h"
#include "storage/published_folder.h"
#include "tolaria/checkpoint/growth_check.h"
#include "tolaria/run/no_checkpoint.h"
#include "tolaria/run/run_image.h"

namespace esper::tolaria {
namespace {

constexpr const char* kWentBack = "the run went back to before it";

[[noreturn]] void fail(const std::string& text) { throw base::Error(base::ExitCode::kCheckpoint, text); }

using ReactionRecords = std::vector<ReactionRecord>;

// Whether the run, as its journal says, went back to before this checkpoint, and did not save since.
bool went_back_before(const RunProgress& progress, const ReactionRecords& journalled) {
  return std::ranges::any_of(journalled, [&](const ReactionRecord& reaction) {
    return reaction.number > progress.safety.reactions && reaction.step < progress.step;
  });
}

// Makes the image the resume point, or fails with the reason why it will not do; the policy is as before then.
// journalled: the reactions that the journal has from the image's step on.
base::Expected<void> load(const CheckpointImage& image, const ResumeTarget& target, const ReactionRecords& journalled,
                          tamiyo::RunPolicy& policy, ResumePoint& point) {
  auto saved = read_state(image, target.batches_per_epoch);
  if (!saved) return base::failure(saved.error());
  const RunProgress& progress = saved->progress;
  if (went_back_before(progress, journalled)) return base::failure(kWentBack);
  if (progress.changes != history::changes_until(target.changes, progress.trained_epoch())) {
    return base::failure("it was trained with other settings than changes/accepted.json says");
  }
  auto model = target.build();
  if (auto restored = restore_run(image, *saved, *model, target.device, policy); !restored) return restored;
  point.progress = std::move(saved->progress);
  point.preprocessing = image.preprocessing;
  point.computed_on = std::move(saved->computed_on);
  point.model = std::move(model);
  return {};
}

[[noreturn]] void fail_with_reasons(const std::string& run, const std::vector<RefusedCheckpoint>& refused) {
  std::vector<std::string> reasons;
  for (const auto& checkpoint : refused) reasons.push_back(checkpoint.path + ": " + checkpoint.reason);
  fail_without_usable(run, reasons);
}

// Whether the run, as its journal says, went back to before each of its checkpoints, and did not save since.
bool went_back_to_its_beginning(base::FileSystem& files, const std::string& journal_path) {
  std::set<std::int64_t> saved;  // steps
  bool went_back = false;
  storage::scan_journal(files, journal_path, [&](std::string_view text) {
    const auto names = [&](std::string_view what) { return text.find(what) != std::string_view::npos; };
    if (!names(R"("checkpoint")") && !names(R"("segment")") && !names(R"("reaction")")) return;
    const auto record = nlohmann::json::parse(text, nullptr, false);
    if (!record.is_object() || !record.contains("step") || !record["step"].is_number_integer()) return;
    const auto step = record["step"].get<std::int64_t>();
    const auto what = record.value("what", nlohmann::json());
    if (what == "checkpoint" || what == "segment") saved.insert(step);  // a segment begins at a checkpoint
    if (what != "reaction") return;
    saved.erase(saved.upper_bound(step), saved.end());
    went_back = true;
  });
  return went_back && saved.empty();
}

// A fork that was interrupted before its checkpoint existed would start from nothing.
void reject_fork(base::FileSystem& files, const std::string& run) {
  const auto journal = history::read_journal(files, run);
  for (const auto& record : journal.history.records()) {
    if (record.what != "forked") continue;
    fail(fmt::format("{} was forked from {}, but its checkpoint is missing; fork again", run, record.parent));
  }
}

// As require_beginning(), of a run whose checkpoints are refused: it starts there if it went back to before all of
// them; one that cannot be read counts by the step of its name. These make room.
void make_room_for_beginning(base::FileSystem& files, const std::string& run, std::optional<std::int64_t> newest_step,
                             std::vector<RefusedCheckpoint>& refused) {
  if (refused.empty()) return require_beginning(files, run);
  const bool went_back = went_back_to_its_beginning(files, run + "/journal");
  const auto is_later = [&](const RefusedCheckpoint& checkpoint) {
    if (checkpoint.was_read) return checkpoint.reason == kWentBack;
    return newest_step ? checkpoint.step > *newest_step : went_back;
  };
  if (!std::ranges::all_of(refused, is_later)) fail_with_reasons(run, refused);
  reject_fork(files, run);
  for (auto& checkpoint : refused) {
    if (checkpoint.was_read) checkpoint.path = storage::quarantine(files, checkpoint.path, storage::kUnreadableEnding);
  }
}

// Those that are not in the checkpoint: it was saved before them.
void add_reactions(const ReactionRecords& reactions, RunProgress& progress) {
  for (const ReactionRecord& reaction : reactions) {
    if (reaction.step >= progress.safety.good_step) progress.safety.apply(reaction);
  }
}

}  // namespace

void require_beginning(base::FileSystem& files, const std::string& run) {
  reject_fork(files, run);
  if (went_back_to_its_beginning(files, run + "/journal")) return;
  if (const auto why = lost_checkpoints(files, run); !why.empty()) fail(why);
}

ResumePoint find_resume_point(base::FileSystem& files, const std::string& run, const ResumeTarget& target,
                              tamiyo::RunPolicy& policy) {
  ResumePoint point;
  history::RunHistory journal;
  std::string doubt;
  const std::string journal_path = run + "/journal";
  ReactionRecords journalled;
  const auto accept = [&](const CheckpointImage& image) -> base::Expected<void> {
    if (target.newest_step && image.info.step > *target.newest_step) return base::failure(kWentBack);
    if (auto own = target.identity.check(image.info.training_hash); !own) return own;
    journalled = read_reactions(files, journal_path, image.info.step);
    auto loaded = try_load([&] { return load(image, target, journalled, policy, point); });
    if (!loaded) return loaded;
    journal = history::read_journal_since(files, run, {image.info.epoch, image.info.step});
    doubt = check_growth(journal.history, image).error_or("");
    return loaded;
  };
  point.checkpoint = restore_newest(files, run + "/checkpoints", accept, point.refused);
  if (point.checkpoint.empty()) {
    make_room_for_beginning(files, run, target.newest_step, point.refused);
    journalled = read_reactions(files, journal_path, 0);
  }
  add_reactions(journalled, point.progress);
  add_reactions(target.reactions, point.progress);
  if (!doubt.empty()) point.unchecked = why_unchecked(point.checkpoint, journal, doubt);
  return point;
}

std::string why_unchecked(const std::string& checkpoint, const history::RunHistory& journal, const std::string& doubt) {
  const bool reported =
      std::ranges::any_of(journal.gaps, [&](auto& gap) { return gap.find(doubt) != std::string::npos; });
  auto reasons = journal.gaps;
  if (!reported) reasons.insert(reasons.begin(), doubt);
  return fmt::format("the network of {} could not be compared with the journal: {}", checkpoint,
                     base::joined(reasons, "; "));
}

}  // namespace esper::tolaria
