#include "history/ledger/run_ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/json_fields.h"
#include "history/ledger/recorded_number.h"
#include "history/ledger/recorded_processes.h"
#include "history/ledger/summary_ledger.h"
#include "history/telemetry/jsonl_reader.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/telemetry_files.h"

namespace esper::history {

using base::known_time_at;
using base::member;
using base::text_at;
using nissa::has_telemetry;

namespace {

using base::Owner;
using nlohmann::json;
using namespace leyline::literals;
using Times = OwnerMs;
using Account = RecordedProcesses::Account;

double sum(const Times& times) { return std::accumulate(times.begin(), times.end(), 0.0); }

// The metrics that Packets reads.
bool is_ledger_metric(std::string_view metric) {
  return metric == "tolaria.ledger.ms"_metric.name() || metric == "tolaria.step.p50_us"_metric.name() ||
         metric == "tolaria.step.p95_us"_metric.name() || metric == "tolaria.timeout.tamiyo_total"_metric.name() ||
         metric == "nissa.dropped_total"_metric.name() || metric == "tolaria.training.loss"_metric.name() ||
         metric == "tolaria.scaler.skipped_steps_total"_metric.name() ||
         metric == "tolaria.training.steps_total"_metric.name();
}

// Takes in the packets of telemetry.jsonl, in order.
class Packets {
 public:
  Packets(const SummaryLedger& summary, RunLedger& run) : summary_(summary), run_(run) {}

  // False where its metrics or its events are no list, and are missing.
  bool take(const json& packet) {
    const json &events = member(packet, "events"), &metrics = member(packet, "metrics");
    if (events.is_array()) {
      for (const auto& event : events) take_event(event);
    }
    const bool summarized = summary_.covers(text_at(packet, "timestamp"));
    bool epoch = false;
    if (metrics.is_array()) {
      for (const auto& metric : metrics) epoch |= take_metric(metric, summarized ? inside_ : outside_);
    }
    if (epoch) take_epoch(packet);
    any_is_summarized_ |= summarized;
    processes_.set_account(summarized ? Account::kSummary : Account::kPackets);
    return events.is_array() && metrics.is_array();
  }

  void finish() {
    take_processes();
    note_damaged(damaged_times_, "time", "telemetry.jsonl", run_.gaps);
    note_damaged(damaged_counts_, "count", "telemetry.jsonl", run_.gaps);
    const bool use_summary = summary_.wall_ms > 0 && sum(summary_.ms) >= 0.99 * sum(inside_) && is_own_process();
    const Times& newest = use_summary ? summary_.ms : inside_;
    for (std::size_t i = 0; i < newest.size(); ++i) run_.ms[i] = outside_[i] + newest[i];
    run_.wall_ms = sum(outside_) + (use_summary ? summary_.wall_ms : sum(inside_));
    run_.epochs = static_cast<std::int64_t>(seen_.size());
    run_.epochs_again = epoch_packets_ - run_.epochs;
    if (run_.processes == 0 && use_summary) run_.processes = 1;
    if (run_.steps == 0) {
      run_.skipped_steps = summary_.skipped_steps;
      run_.steps = summary_.steps.value_or(0);
    }
    if (run_.steps > 0 && run_.skipped_steps.value_or(0) > run_.steps) {
      run_.gaps.push_back(fmt::format("{} of {} steps are recorded as skipped, more than there are, and were ignored",
                                      *run_.skipped_steps, run_.steps));
      run_.skipped_steps.reset();
    }
  }

 private:
  // Whether the times of the summary are of no other packets than those that it covers, as they would count twice.
  // Adds a gap where not.
  bool is_own_process() {
    if (sum(inside_) + sum(outside_) <= 0) return true;
    if (!summary_.has_times_of_day()) {
      run_.gaps.push_back("the times of day (from, until) in summary.json are damaged: its ledger was ignored");
      return false;
    }
    if (!any_is_summarized_ && run_.steps > 0 && summary_.steps == run_.steps) {
      run_.gaps.push_back(
          "no packet in telemetry.jsonl falls into the times of day (from, until) of summary.json, which has the same "
          "steps: its ledger was ignored");
      return false;
    }
    return true;
  }

  void take_event(const json& event) {
    const std::string name = text_at(event, "description");
    const json& attributes = member(event, "attributes");
    if (name == "tolaria.run_started"_event.name() || name == "tolaria.resumed"_event.name()) {
      processes_.begin();
      if (const auto device = text_at(attributes, "device"); !device.empty()) run_.device = device;
    }
    if (name == "tolaria.run_finished"_event.name()) processes_.finish_run();
    if (name == "tolaria.rollback.restored"_event.name() && text_at(attributes, "tier") == "checkpoint") {
      processes_.restore_checkpoint();
    }
  }

  // True for one that only an epoch's packet has.
  bool take_metric(const json& metric, Times& times) {
    const std::string name = text_at(metric, "name");
    if (name == "tolaria.ledger.ms"_metric.name()) take_time(metric, times);
    const bool is_of_epoch = name == "tolaria.training.loss"_metric.name();
    if (is_of_epoch || member(metric, "value").is_null()) return is_of_epoch;  // a loss that is not finite has none
    if (name == "tolaria.step.p50_us"_metric.name()) run_.step_p50_us = step_time(metric);
    if (name == "tolaria.step.p95_us"_metric.name()) run_.step_p95_us = step_time(metric);
    if (name == "tolaria.timeout.tamiyo_total"_metric.name()) {
      if (const auto timeouts = count_in(metric)) processes_.set_policy_timeouts(*timeouts);
    }
    if (name == "tolaria.scaler.skipped_steps_total"_metric.name()) run_.skipped_steps = count_in(metric);
    if (name == "tolaria.training.steps_total"_metric.name()) run_.steps = count_in(metric).value_or(run_.steps);
    // What other sinks lost is not missing here. Runs of earlier versions count all sinks as one.
    const auto sink = text_at(member(metric, "attributes"), "sink");
    if (name == "nissa.dropped_total"_metric.name() && (sink.empty() || sink == "jsonl")) {
      if (const auto packets = count_in(metric)) processes_.set_dropped(*packets);
    }
    return is_of_epoch;
  }

  std::optional<std::int64_t> count_in(const json& metric) { return recorded_count(metric, "value", damaged_counts_); }

  std::optional<double> step_time(const json& metric) {
    const auto us = known_time_at(metric, "value", std::chrono::microseconds(1));
    if (!us) ++damaged_times_;
    return us;
  }

  // An owner with a name that is not known here is of another version.
  void take_time(const json& metric, Times& times) {
    const std::string owner_name = text_at(member(metric, "attributes"), "owner");
    const auto owner = base::from_name<Owner>(owner_name);
    const auto ms = known_time_at(metric, "value", std::chrono::milliseconds(1));
    if (owner && ms) times[index_of(*owner)] += *ms;
    if (owner_name.empty() || (owner && !ms)) ++damaged_times_;
  }

  void take_epoch(const json& packet) {
    const std::string text = text_at(member(member(packet, "system_health"), "indicators"), "epoch");
    ++epoch_packets_;
    seen_.insert(text);
    processes_.end_epoch(text);
  }

  void take_processes() {
    processes_.end();
    run_.processes = processes_.count();
    run_.policy_timeouts = processes_.policy_timeouts();
    run_.gaps.insert(run_.gaps.end(), processes_.gaps().begin(), processes_.gaps().end());
    if (run_.processes > 0 && processes_.account() == Account::kPackets) run_.status.clear();  // an earlier process's
  }

  const SummaryLedger& summary_;
  RunLedger& run_;
  Times inside_{}, outside_{};  // of packets that the summary covers, and of the others
  bool any_is_summarized_ = false;
  RecordedProcesses processes_;
  std::set<std::string> seen_;
  std::int64_t epoch_packets_ = 0;
  std::size_t damaged_times_ = 0, damaged_counts_ = 0;
};

}  // namespace

RunLedger read_run_ledger(const std::filesystem::path& run) {
  RunLedger ledger;
  const SummaryLedger summary = read_summary_ledger(run / "summary.json", ledger.gaps);
  ledger.status = summary.status;
  Packets packets(summary, ledger);
  const auto telemetry = run / "telemetry.jsonl";
  JsonlReport report;
  const bool reported = has_telemetry(telemetry);
  if (reported) {
    std::size_t incomplete = 0;
    const auto take = [&](const json& packet) { incomplete += packets.take(packet) ? 0 : 1; };
    report = read_jsonl(telemetry, take, is_ledger_metric);
    report.damaged_total += incomplete;
    ledger.damaged_lines = report.damaged_total;
  }
  packets.finish();
  const auto missing = gaps_of(report);
  ledger.gaps.insert(ledger.gaps.end(), missing.begin(), missing.end());
  if (ledger.wall_ms <= 0) {
    const std::string why = ledger.gaps.empty() ? "" : " (" + base::joined(ledger.gaps, "; ") + ")";
    throw base::Error(base::ExitCode::kData,
                      run.string() + " has no recorded times: neither its telemetry.jsonl nor its summary.json has " +
                          "any" + why + ". They are recorded at the end of each epoch if telemetry.jsonl is true");
  }
  if (!reported) {
    ledger.gaps.push_back("there is no telemetry.jsonl: only the process that wrote summary.json is covered");
  }
  return ledger;
}

}  // namespace esper::history
