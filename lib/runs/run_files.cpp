#include "runs/run_files.h"

#include <chrono>
#include <initializer_list>

#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "base/text/raw_json.h"
#include "config/training_config.h"
#include "history/growth/checkpoint_list.h"

namespace esper::runs {
namespace {

using base::member;
using base::number_at;
using base::text_at;
using nlohmann::json;

constexpr std::uint64_t kMostRunBytes = 16 << 20;

std::optional<RunState> state_of(const std::string& status) {
  if (status == "done" || status == "early_stopped") return RunState::kFinished;
  if (status == "interrupted" || status == "halted") return RunState::kInterrupted;
  if (status == "diverged") return RunState::kDiverged;
  if (status == "not_saved" || status == "out_of_memory" || status == "failed") return RunState::kFailed;
  return std::nullopt;
}

std::map<std::string, double> figures_of(const json& object) {
  std::map<std::string, double> figures;
  for (const auto& [metric, name] : names(config::Metric{})) {
    if (const auto value = number_at(object, std::string(name))) figures[std::string(name)] = *value;
  }
  return figures;
}

// The members of these names alone; a discarded value where one of them is damaged.
json parse_members(const base::RawObject& object, std::initializer_list<std::string_view> names) {
  json parsed = json::object();
  for (const auto name : names) {
    const auto text = base::raw_value(object, name);
    if (text.empty()) continue;
    json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) return value;
    parsed[std::string(name)] = std::move(value);
  }
  return parsed;
}

// When the process ended. The rest of the ledger is not needed here.
std::string end_of_ledger(const base::RawObject& summary) {
  const auto ledger = base::raw_object(base::raw_value(summary, "ledger"));
  return ledger ? text_at(parse_members(*ledger, {"until"}), "until") : "";
}

// A whole number from 0 on that a run can count to; others are as good as missing.
std::optional<std::int64_t> count_of(const json& object, const std::string& name) {
  const json& value = member(object, name);
  if (!value.is_number_integer() || !value.is_number_unsigned()) return std::nullopt;
  const auto count = value.get<std::uint64_t>();
  return std::in_range<std::uint32_t>(count) ? std::optional(static_cast<std::int64_t>(count)) : std::nullopt;
}

std::optional<double> wall_time_of(const json& object) {
  return base::known_time_at(object, "wall_s", std::chrono::seconds(1));
}

// Of a checkpoint: figures by name, of earlier versions loss and accuracy alone.
std::map<std::string, double> saved_figures(const json& pass) {
  const json& by_metric = member(pass, "by_metric");
  return figures_of(by_metric.is_object() && !by_metric.empty() ? by_metric : pass);
}

Course course_of(const json& progress) {
  Course course;
  course.epochs = count_of(progress, "epoch").value_or(0);
  course.trained_s = wall_time_of(progress);
  const json &validation = member(progress, "validation"), &best = member(progress, "best");
  course.last.figures = saved_figures(validation);
  if (!course.last.figures.empty()) course.last.epoch = course.epochs;
  course.best = {count_of(best, "epoch"), saved_figures(best)};
  return course;
}

std::optional<Course> course_of_summary(const json& summary) {
  const auto epochs = count_of(summary, "epochs");
  if (!epochs) return std::nullopt;
  Course course;
  course.epochs = *epochs;
  course.trained_s = wall_time_of(summary);
  course.last.figures = figures_of(member(summary, "validation"));
  if (!course.last.figures.empty()) course.last.epoch = course.epochs;
  const json& best = member(summary, "best");
  course.best = {count_of(best, "epoch"), figures_of(best)};
  return course;
}

}  // namespace

base::Expected<Summary> read_summary(std::string_view text) {
  const auto object = base::raw_object(text);
  if (!object) return base::failure("it is not a JSON object");
  // Its lists of seeds and checkpoints may be long.
  const json parsed = parse_members(*object, {"status", "reason", "version", "epochs", "wall_s", "validation", "best"});
  if (!parsed.is_object()) return base::failure("it is not valid JSON");
  const std::string status = text_at(parsed, "status");
  const auto state = state_of(status);
  if (!state) return base::failure("its status is " + base::printable_line(base::in_quotes(status)));
  Summary summary;
  summary.state = *state;
  summary.stopped_early = status == "early_stopped";
  summary.reason = text_at(parsed, "reason");
  summary.until = end_of_ledger(*object);
  summary.version = text_at(parsed, "version");
  summary.course = course_of_summary(parsed);
  return summary;
}

base::Expected<Course> read_checkpoint_course(base::FileSystem& files, const std::string& checkpoint) {
  const json run = history::read_run_json(files, checkpoint, kMostRunBytes);
  const json& progress = member(run, "progress");
  if (!progress.is_object()) return base::failure("its run.json has no progress");
  return course_of(progress);
}

}  // namespace esper::runs
