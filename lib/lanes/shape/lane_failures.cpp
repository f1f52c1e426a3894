#include "lanes/shape/lane_failures.h"

#include <fmt/core.h>

#include <utility>

#include "base/text/rounding.h"
#include "device/asynchronous_error.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {

using base::format_significant;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// For whoever looks into the quarantine, without the event of the run that found it.
std::string with_place(const Rejection& rejection) {
  const auto& where = rejection.where;
  if (!where) return rejection.reason;
  std::string text = rejection.reason + " in " + where->tensor;
  if (where->tolerance > 0) {
    text += " by " + format_significant(where->difference, 3) + ", where " + format_significant(where->tolerance, 3) +
            " is allowed";
  }
  return text;
}

constexpr std::string_view kPackageStays =
    "; the package stays: CUDA reports such an error late, and earlier work may be its cause";

// How a run goes on whose step failed in a compiled program. entry: the file of its package, if the cache still has it.
std::string remedy_for(const std::optional<std::string>& entry) {
  constexpr std::string_view kResume = "To continue from the newest checkpoint: esper train --resume RUN";
  if (entry) {
    return fmt::format(
        "{}; if that fails in the same way, delete the package {} and resume with --set step.lane=replay", kResume,
        *entry);
  }
  return fmt::format(
      "{}. The package was taken out of the cache, and its program is compiled once more at most; with --set "
      "step.lane=replay no compiled program runs",
      kResume);
}

}  // namespace

std::string LaneFailures::name_of(config::Lane kind) const {
  const LaneKind* row = find_kind(services_.kinds, kind);
  return row != nullptr ? std::string(row->name) : "auto";
}

// The state may be partly written: the run ends, and the next one does not use this package, unless it may be good.
base::Error LaneFailures::failed_step(const Lane& lane, const std::string& reason) {
  program::PackageCache& cache = services_.compile_service->cache();
  const bool may_be_good = device::is_asynchronous_error(reason);
  std::string what = "step failed";
  if (may_be_good) what += kPackageStays;
  services_.emit(event("tolaria.compile_runtime_fallback"_event, Level::kError, {{"error", what}, {"reason", reason}}));
  if (!may_be_good) ++figures_.quarantined;
  const bool is_away =
      !may_be_good && cache.quarantine(lane.key(), program::EntryFault::kFailed, reason, lane.loaded().mac);
  const auto entry = is_away ? std::nullopt : std::optional(cache.entry_path(lane.key()));
  return {base::ExitCode::kBug,
          fmt::format("a step of the compiled program {} failed: {}\n{}", lane.key(), reason, remedy_for(entry))};
}

base::Error LaneFailures::late_failure(const std::string& key, const std::string& reason) {
  const std::string what = fmt::format("the GPU failed{}", kPackageStays);
  services_.emit(event("tolaria.compile_runtime_fallback"_event, Level::kError, {{"error", what}, {"reason", reason}}));
  const std::string entry = services_.compile_service->cache().entry_path(key);
  return {
      base::ExitCode::kBug,
      fmt::format("the GPU failed: {}\nThe compiled program {} ran in this epoch: CUDA reports such an error late, and "
                  "that program or other work may be its cause. {}",
                  reason, key, remedy_for(entry))};
}

void LaneFailures::reject(config::Lane kind, const std::string& key, const Rejection& rejection) {
  using Cause = Rejection::Cause;
  ++figures_.refusals;
  if (rejection.cause == Cause::kErred || rejection.cause == Cause::kSensitive) ++figures_.checks_failed;
  const Level level = rejection.cause == Cause::kNotFaster ? Level::kInfo : Level::kWarning;
  const std::string context =
      rejection.cause == Cause::kNoMemory ? "out of memory while comparing it with eager: " : "";
  leyline::TelemetryEvent refused =
      event("tolaria.lane_refused"_event, level, {{"lane", name_of(kind)}, {"reason", context + rejection.reason}});
  if (const auto& where = rejection.where) {
    refused.attributes["tensor"] = where->tensor;
    if (where->tolerance > 0) {
      refused.attributes["difference"] = format_significant(where->difference, 3);
      refused.attributes["tolerance"] = format_significant(where->tolerance, 3);
    }
  }
  services_.emit(std::move(refused));
  if (rejection.cause != Cause::kErred || key.empty()) return;
  if (!rejection.where && device::is_asynchronous_error(rejection.reason)) return;
  ++figures_.quarantined;
  // An exception may have been chance, a wrong result was not.
  const auto fault = rejection.where ? program::EntryFault::kWrong : program::EntryFault::kFailed;
  services_.compile_service->cache().quarantine(key, fault, with_place(rejection), rejection.mac);
}

void LaneFailures::report_no_compiler(const std::string& kind, const std::string& reason) {
  if (std::exchange(reported_no_compiler_, true)) return;
  services_.emit(event("tolaria.compile_fallback"_event, Level::kWarning, {{"error", kind}, {"reason", reason}}));
}

void LaneFailures::report_no_compiler() {
  report_no_compiler("unavailable",
                     services_.compile_service == nullptr
                         ? "there is no Python; run scripts/bootstrap, or set ESPER_PYTHON to one with torch"
                         : services_.compile_service->problem());
}

void LaneFailures::report_unusable(const std::string& reason) {
  services_.emit(event("tolaria.compile_runtime_fallback"_event, Level::kWarning, {{"error", reason}}));
}

void LaneFailures::report_damaged(const std::string& damage) {
  ++figures_.quarantined;
  report_unusable(damage);
}

void LaneFailures::report_not_tried(config::Lane kind, const std::string& reason) {
  services_.emit(event("tolaria.lane_refused"_event, Level::kWarning, {{"lane", name_of(kind)}, {"reason", reason}}));
}

}  // namespace esper::lanes
