#pragma once
// The field reports of a run: one is opened for each command that is carried out, observes the epochs of its window,
// and is closed with an outcome. Training thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "leyline/command.h"
#include "leyline/observation.h"
#include "tamiyo/service/field_report.h"

namespace esper::tamiyo {

struct FieldReportSettings {
  std::uint32_t window_epochs = 1;
};

struct PendingReport {
  FieldReport report;
  double loss = 0, accuracy = 0;  // validation, when the command was carried out
  std::uint32_t since = 0;        // the epoch at whose end it was carried out: what it does shows in later ones
  bool operator==(const PendingReport&) const = default;
};

class FieldReports {
 public:
  explicit FieldReports(FieldReportSettings settings = {}) : settings_(settings) {}

  // One report a command. carried_out: the epoch at whose end, that of the observation or a later one.
  void open(const leyline::Decision& decision, const leyline::Observation& observation, std::uint32_t carried_out);
  // An epoch's end, before its own commands: closes what has been observed for long enough, and returns it.
  std::vector<FieldReport> observe(const leyline::Observation& observation, std::string_view risk_reason);
  // The network rejected the command: it has no report any more.
  void abort(const std::string& command_id);
  // The run ends before their windows do: closes all that are left as aborted, and returns them.
  std::vector<FieldReport> abort_all();

  const std::vector<PendingReport>& pending() const { return pending_; }
  std::int64_t published() const { return published_; }  // closed ones, those of rejected commands included

  // What a resumed run needs. Throws nlohmann::json::exception for what is no such state.
  nlohmann::json save() const;
  void load(const nlohmann::json& saved);

 private:
  FieldReportSettings settings_;
  std::vector<PendingReport> pending_;
  std::int64_t published_ = 0;
};

// Drops the reports in a saved state whose window is not over.
void forget_pending(nlohmann::json& saved);

}  // namespace esper::tamiyo
