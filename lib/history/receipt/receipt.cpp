#include "history/receipt/receipt.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "history/growth/run_history.h"
#include "history/receipt/receipt_timeline.h"
#include "leyline/seed_id.h"
#include "nissa/telemetry_files.h"

namespace esper::history {

using nissa::has_telemetry;

namespace {

// Epochs on either side of a graft that step times are taken from.
constexpr std::uint32_t kEpochsCompared = 5;

std::optional<double> at(const SeedTelemetry::ByEpoch& values, std::uint32_t epoch) {
  const auto found = values.find(epoch);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

// Epochs that ended with the network between two changes of structure: (first, last].
struct Window {
  std::uint32_t after = 0, until = 0;
};

// Of the epochs in the window that are nearest to `graft`, which is one end of it.
std::optional<double> median_step_ms(const SeedTelemetry& telemetry, Window window, std::uint32_t graft,
                                     std::size_t& epochs) {
  const auto& all = telemetry.step_p50_us;
  std::vector<double> times;
  for (auto it = all.upper_bound(window.after); it != all.end() && it->first <= window.until; ++it) {
    times.push_back(it->second / 1000);
  }
  const std::size_t kept = std::min<std::size_t>(times.size(), kEpochsCompared);
  const auto drop = static_cast<std::ptrdiff_t>(times.size() - kept);
  if (window.until == graft) times.erase(times.begin(), times.begin() + drop);
  times.resize(kept);
  epochs = kept;
  return times.empty() ? std::nullopt : std::optional(base::median(std::move(times)));
}

// Also a fork that left seeds out.
bool changes_structure(const GrowthRecord& record) {
  if (!record.event) return !record.without.empty();
  return record.what == "stage" && (is_germination(record) || is_cull(record));
}

StepCost step_cost(const Receipt& receipt, const std::vector<GrowthRecord>& records, const SeedTelemetry& telemetry) {
  if (receipt.origin != Receipt::Origin::kGerminated || !receipt.born) return {};
  const std::uint32_t born = receipt.born->epoch;
  Window before{0, born}, after{born, std::numeric_limits<std::uint32_t>::max()};
  const auto change_at = [&](std::uint32_t epoch) {
    if (epoch < born) before.after = std::max(before.after, epoch);
    if (epoch > born) after.until = std::min(after.until, epoch);
  };
  bool alone = true;  // no other change between the same two epochs
  for (const auto& record : records) {
    if (!changes_structure(record)) continue;
    change_at(record.place.epoch);
    if (record.place.epoch == born && !is_about(record, receipt.seed_id)) alone = false;
  }
  for (const std::uint32_t epoch : telemetry.process_starts) {  // another process, maybe on another machine
    change_at(epoch);
    if (epoch == born) alone = false;
  }
  StepCost cost;
  if (!alone) return cost;
  cost.before_ms = median_step_ms(telemetry, before, born, cost.epochs_before);
  cost.after_ms = median_step_ms(telemetry, after, born, cost.epochs_after);
  return cost;
}

struct MeasuredValue {
  std::optional<double> value, standard_error, half_width;

  // Runs of before half widths were recorded have only the error, not the degrees of freedom; and an error of zero says
  // that no sample differed, not how many samples there were.
  std::optional<base::Interval> interval() const {
    if (!value || !(half_width || standard_error)) return std::nullopt;
    const double half = half_width ? *half_width : base::kNormal95 * *standard_error;
    if (half == 0) return std::nullopt;
    return base::Interval{*value - half, *value + half};
  }
};

struct Measured {
  MeasuredValue contribution, shapley;
};

// By epoch. A fossil is measured no more: later reports about it compare with the time it was admitted.
std::map<std::uint32_t, Measured> measurements(const Receipt& receipt, const SeedTelemetry& telemetry) {
  std::map<std::uint32_t, Measured> by_epoch;
  for (const auto& record : receipt.timeline) {  // the gate's figures are the same ones, where telemetry was off
    if (record.what != "gate") continue;
    const auto value = [&](const char* name) { return value_at(record.event->values, name); };
    if (!value("contribution_points")) continue;
    by_epoch[record.place.epoch] = {
        {value("contribution_points"), value("contribution_stderr_points"), value("contribution_half_width_points")},
        {value("shapley_points"), value("shapley_stderr_points"), value("shapley_half_width_points")}};
  }
  for (const auto& [epoch, points] : telemetry.contribution_points) {
    if (receipt.ended && epoch > receipt.ended->epoch) break;
    by_epoch[epoch] = {
        {points, at(telemetry.contribution_stderr_points, epoch), at(telemetry.contribution_half_width_points, epoch)},
        {at(telemetry.shapley_points, epoch), at(telemetry.shapley_stderr_points, epoch),
         at(telemetry.shapley_half_width_points, epoch)}};
  }
  return by_epoch;
}

// The last one up to the seed's end. What a gate had of it counts, too, where telemetry has nothing of that epoch.
std::optional<double> last_of(const Receipt& receipt, const SeedTelemetry::ByEpoch& values, const char* in_gate) {
  const auto end = receipt.ended ? values.upper_bound(receipt.ended->epoch) : values.end();
  SeedTelemetry::ByEpoch known(values.begin(), end);
  for (const auto& record : receipt.timeline) {
    if (record.what != "gate") continue;
    if (const auto value = value_at(record.event->values, in_gate)) known.emplace(record.place.epoch, *value);
  }
  return known.empty() ? std::nullopt : std::optional(known.rbegin()->second);
}

Worth worth_of(const Receipt& receipt, const SeedTelemetry& telemetry) {
  Worth worth;
  worth.epochs = last_of(receipt, telemetry.worth_epochs, "worth_epochs");
  worth.points = last_of(receipt, telemetry.worth_points, "worth_points");
  worth.loss = last_of(receipt, telemetry.worth_loss, "worth_loss");
  const auto last = [&](const SeedTelemetry::ByEpoch& values, const char* in_gate) {
    return last_of(receipt, values, in_gate);
  };
  worth.points_interval = MeasuredValue{worth.points, last(telemetry.worth_stderr_points, "worth_points_stderr"),
                                        last(telemetry.worth_half_width_points, "worth_points_half_width")}
                              .interval();
  worth.loss_interval = MeasuredValue{worth.loss, last(telemetry.worth_loss_stderr, "worth_loss_stderr"),
                                      last(telemetry.worth_loss_half_width, "worth_loss_half_width")}
                            .interval();
  return worth;
}

std::optional<double> points_of(std::optional<double> accuracy) {
  return accuracy ? std::optional(100 * *accuracy) : std::nullopt;
}

// Where its records are missing: the first epoch whose telemetry has it, where there is telemetry from before it.
std::optional<std::uint32_t> birth_epoch(const Receipt& receipt, const SeedTelemetry& telemetry) {
  if (receipt.origin == Receipt::Origin::kHost) return std::nullopt;
  if (receipt.born) return receipt.born->epoch;
  const auto& reported = telemetry.parameters;
  const auto& accuracy = telemetry.validation_accuracy;
  const bool seen = !reported.empty() && !accuracy.empty() && accuracy.begin()->first < reported.begin()->first;
  return seen ? std::optional(reported.begin()->first) : std::nullopt;
}

void take_measurements(Receipt& receipt, const SeedTelemetry& telemetry) {
  const auto by_epoch = measurements(receipt, telemetry);
  for (const auto& [epoch, measured] : by_epoch) {
    receipt.measured.push_back(
        {epoch, *measured.contribution.value, points_of(at(telemetry.validation_accuracy, epoch))});
  }
  if (const auto born = birth_epoch(receipt, telemetry)) {
    receipt.accuracy_at_birth_points = points_of(at(telemetry.validation_accuracy, *born));
    receipt.accuracy_after_first_epoch_points = points_of(at(telemetry.validation_accuracy, *born + 1));
  }
  if (by_epoch.empty()) return;
  const auto& [last_epoch, last] = *by_epoch.rbegin();
  receipt.contribution = {by_epoch.size(),    last.contribution.value, last.contribution.interval(),
                          last.shapley.value, last.shapley.interval(), at(telemetry.configurations_needed, last_epoch)};
}

std::optional<double> sum_of(const std::map<std::uint32_t, double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0, [](double sum, auto& entry) { return sum + entry.second; });
}

// One run of the seed's line, and what of it counts.
struct Part {
  std::filesystem::path run;
  RunPlace from, until;
  std::string name;  // in front of its gaps; of the run itself none
};

// Where nothing was trained, or the seed's life was over, no file is missing.
SeedTelemetry read_part(const Part& part, Receipt& receipt) {
  std::vector<std::string> gaps;
  auto telemetry = read_seed_telemetry(part.run, receipt.seed_id, gaps);
  const bool over = receipt.ended && receipt.ended->epoch <= part.from.epoch;
  const bool before = receipt.born && receipt.born->epoch >= part.until.epoch;
  if (part.until.epoch <= part.from.epoch || over || before) return telemetry;
  for (const auto& gap : gaps) receipt.gaps.push_back(part.name + gap);
  if (!has_telemetry(part.run / "telemetry.jsonl")) receipt.telemetry_missing = true;
  return telemetry;
}

// Also of the runs before: a seed that was germinated where a fork began is compared with the epoch before it.
SeedTelemetry read_telemetry(const std::filesystem::path& run, const Lineage& lineage, Receipt& receipt) {
  const auto& ancestors = lineage.ancestors;
  const auto& records = lineage.history.records();
  const RunPlace start = ancestors.empty() ? records.front().place : ancestors.front().until;
  SeedTelemetry telemetry = read_part({run, start, records.back().place, ""}, receipt);
  for (std::size_t i = 0; i < ancestors.size(); ++i) {
    const auto& [folder, until, count] = ancestors[i];
    const RunPlace from = i + 1 < ancestors.size() ? ancestors[i + 1].until : records.front().place;
    begin_with(telemetry, read_part({folder, from, until, "in " + folder + ": "}, receipt), until.epoch, until.step);
  }
  return telemetry;
}

std::optional<StructureSwap> swap_at(const Receipt& receipt, const SeedTelemetry& telemetry) {
  if (receipt.origin != Receipt::Origin::kGerminated || !receipt.born) return std::nullopt;
  const auto found = telemetry.swaps.find(receipt.born->step);
  return found == telemetry.swaps.end() ? std::nullopt : std::optional(found->second);
}

void take_telemetry(Receipt& receipt, const SeedTelemetry& telemetry, const std::vector<GrowthRecord>& records) {
  receipt.step = step_cost(receipt, records, telemetry);
  receipt.swap = swap_at(receipt, telemetry);
  receipt.worth = worth_of(receipt, telemetry);
  take_measurements(receipt, telemetry);
  if (!receipt.parameters && !telemetry.parameters.empty()) {
    receipt.parameters = telemetry.parameters.begin()->second;
  }
  receipt.conflicts = sum_of(telemetry.conflicts);
  if (const auto sum = sum_of(telemetry.conflict_ratio)) {
    receipt.conflict_ratio = *sum / static_cast<double>(telemetry.conflict_ratio.size());
  }
  receipt.isolation_violations = sum_of(telemetry.isolation_violations);
}

[[noreturn]] void fail_removed(const std::string& seed_id, const GrowthRecord& forked) {
  throw base::Error(base::ExitCode::kConfig, seed_id + " was removed when " + forked.parent + " was forked at " +
                                                 place_text(forked.place) +
                                                 ": it is not part of any later step. esper receipt " + forked.parent +
                                                 " " + seed_id + " shows its cost and contribution there");
}

// By this run's fork, or by one of those that it goes back to: a number is not given again.
void refuse_left_out(const std::vector<GrowthRecord>& records, const std::string& seed_id) {
  for (const auto& record : records) {
    if (std::ranges::find(record.without, seed_id) != record.without.end()) fail_removed(seed_id, record);
  }
}

// Also one that the parent had culled by then, as far as the numbers show.
bool is_from_parent(const std::vector<GrowthRecord>& records, const std::string& seed_id) {
  const auto forked = std::ranges::find(records, "forked", &GrowthRecord::what);
  if (forked == records.end()) return false;
  const auto number = leyline::number_of_seed(seed_id);
  return forked->snapshot && number > 0 && number <= forked->snapshot->seeds_born;
}

}  // namespace

Receipt read_receipt(const std::filesystem::path& run, const std::string& seed_id) {
  RunHistory journal = read_run_history(run.string());
  Receipt receipt;
  receipt.seed_id = seed_id;
  receipt.gaps = std::move(journal.gaps);
  const bool from_parent = is_from_parent(journal.history.records(), seed_id);
  Lineage lineage{std::move(journal.history), {}, {}, {}};
  if (from_parent) {
    lineage = read_lineage(run.string(), std::move(lineage.history));
    receipt.gaps.insert(receipt.gaps.end(), lineage.gaps.begin(), lineage.gaps.end());
  }
  refuse_left_out(lineage.history.records(), seed_id);
  take_timeline(receipt, lineage);
  take_telemetry(receipt, read_telemetry(run, lineage, receipt), lineage.history.records());
  return receipt;
}

}  // namespace esper::history
