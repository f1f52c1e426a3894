#include "config/loading/live_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text/joined.h"
#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/fields/removed_fields.h"
#include "config/loading/assignment.h"
#include "config/loading/load.h"
#include "config/writing/free_fields.h"
#include "config/writing/write.h"

namespace esper::config {
namespace {

constexpr std::string_view kEpochs = "epochs";
constexpr std::array<std::string_view, 8> kLive{"training.optimizer.lr",         "training.schedule.warmup_steps",
                                                "training.schedule.min_factor",  "training.schedule.step_epochs",
                                                "training.schedule.gamma",       "training.early_stop_epochs",
                                                "training.early_stop_min_delta", "checkpoint.every"};

FieldRow row_of(RunConfig& config, std::string_view path) {
  const auto rows = field_table(config);
  const auto found = std::ranges::find(rows, path, &FieldRow::path);
  ESPER_CHECK(found != rows.end(), "a live field is a field");
  return *found;
}

bool is_field(const RunConfig& config, std::string_view path) {
  RunConfig copy = config;
  return std::ranges::count(field_table(copy), path, &FieldRow::path) > 0;
}

// Empty: it may be. Of a path that never was a field, the loader has a problem.
std::string why_not_live(const RunConfig& own, std::string_view path) {
  if (const RemovedField* const removed = removed_field(path)) return std::string(removed->refused);
  if (!is_field(own, path)) return {};
  if (!is_live_field(path)) {
    return fmt::format("cannot be changed while a run trains; these can: {}", live_fields_text());
  }
  if (path != kEpochs) return {};
  if (epochs_are_fixed(own)) return "cannot be changed: the run's schedule depends on its number of epochs";
  if (own.growth.enabled && own.policy.deciding() != PolicyKind::kNone) {
    return "cannot be changed while the run trains, since its growth policy plans with the number of epochs; stop the "
           "run and continue it with esper train --resume RUN --set epochs=N";
  }
  return {};
}

}  // namespace

bool is_live_field(std::string_view path) { return path == kEpochs || std::ranges::count(kLive, path) > 0; }

std::string live_fields_text() {
  return fmt::format("{}, and {} unless a schedule or a growth policy is planned with it", base::joined(kLive),
                     kEpochs);
}

std::string live_value(const RunConfig& config, std::string_view path) {
  RunConfig copy = config;
  return field_yaml(row_of(copy, path).value);
}

void take_live_fields(const RunConfig& from, RunConfig& to) {
  RunConfig source_config = from;
  const auto sources = field_table(source_config), targets = field_table(to);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!is_live_field(sources[i].path)) continue;
    std::visit(
        [&]<class Value>(const Value& source) {
          if constexpr (std::is_pointer_v<Value>) *std::get<Value>(targets[i].value) = *source;
        },
        sources[i].value);
  }
}

LiveConfig with_live_settings(const RunConfig& own, const std::vector<std::string>& assignments) {
  auto loaded = read_run_config_text(resolved_yaml(own), "the run's settings", assignments, DocumentKind::kOfRun);
  LiveConfig live{own, std::move(loaded.problems)};
  for (const auto& assignment : assignments) {
    const std::string path = assignment.substr(0, assignment.find('='));
    const bool is_refused = std::ranges::count(live.problems, path, &base::Problem::path) > 0;
    if (auto why = why_not_live(own, path); !why.empty() && !is_refused) {
      live.problems.push_back({{assignment_origin(assignment), 0, 0}, path, std::move(why)});
    }
  }
  take_live_fields(loaded.config, live.config);
  return live;
}

}  // namespace esper::config
