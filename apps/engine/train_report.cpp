#include "engine/train_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/ledger/chrome_trace.h"
#include "base/quantity.h"
#include "base/text/printable.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "nissa/log.h"
#include "storage/atomic_publish.h"

namespace esper::engine {
namespace {

using base::FileSystem;
using nlohmann::ordered_json;
using tolaria::RunFolder;
using Kind = tolaria::RunOutcome::Kind;

// "loss 0.3911, accuracy 0.9005": of a task with one class a sample the accuracy, of others all that they have.
std::string format_figures(const ordered_json& figures) {
  std::string text = fmt::format("loss {:.4f}", figures["loss"].get<double>());
  for (const auto& [name, figure] : figures.items()) {
    const bool shown = figures.contains("top5") ? name == "accuracy" : name != "loss" && name != "epoch";
    if (shown && figure.is_number()) text += fmt::format(", {} {:.4f}", name, figure.get<double>());
  }
  return text;
}

std::string format_summary(const ordered_json& summary) {
  using base::Length;
  const Length epochs{summary["epochs"].get<std::int64_t>(), Length::Unit::kEpochs};
  const Length steps{summary["steps"].get<std::int64_t>(), Length::Unit::kSteps};
  const auto& validation = summary["validation"];
  std::string text =
      fmt::format("{}: {}, {}, {:.1f} s; {}", summary["status"].get<std::string>(), to_string(epochs), to_string(steps),
                  summary["wall_s"].get<double>(),
                  validation["loss"].is_null() ? "not validated yet" : "validation " + format_figures(validation));
  if (const auto& best = summary["best"]; !best.is_null()) {
    text += fmt::format("\nbest epoch: {}, validation {}", best["epoch"].dump(), format_figures(best));
  }
  if (const auto reason = summary["reason"].get<std::string>(); !reason.empty()) {
    text += "\nreason: " + base::printable_line(reason);
  }
  return text + "\nrun folder: " + base::printable_line(summary["run_dir"].get<std::string>()) + "\n";
}

}  // namespace

bool reached_its_end(const tolaria::RunOutcome& outcome) {
  return outcome.kind == Kind::kDone || outcome.kind == Kind::kEarlyStopped;
}

void print_outcome(const ordered_json& summary, const tolaria::RunOutcome& outcome, OutcomeFormat format) {
  const bool failed = !reached_its_end(outcome) && outcome.kind != Kind::kInterrupted;
  if (failed) base::print_failure(outcome.reason + "\nrun folder: " + summary["run_dir"].get<std::string>());
  const std::string text = format == OutcomeFormat::kJson ? base::json_text(summary) : format_summary(summary);
  if (reached_its_end(outcome)) return base::write_output(text);
  base::write_output_in_time(text);
}

void publish_summary(FileSystem& files, const RunFolder& folder, const ordered_json& summary) {
  try {
    // Paths may hold any bytes; JSON may not.
    const auto text = summary.dump(2, ' ', false, ordered_json::error_handler_t::replace);
    storage::publish_file(files, folder.summary(), storage::bytes_of(text + "\n"));
  } catch (const base::IoError& error) {
    nissa::log::warning(std::string("cannot write summary.json: ") + error.what());
  }
}

void publish_kernel_trace(FileSystem& files, const RunFolder& folder, const device::KernelTrace& kernels) {
  try {
    if (!kernels.problem().empty()) {
      nissa::log::warning("no kernel_trace.json: " + kernels.problem());
    } else if (kernels.text().empty()) {
      nissa::log::warning("no kernel_trace.json: the run had no second epoch in this process");
    } else {
      storage::publish_file(files, folder.kernel_trace(), storage::bytes_of(kernels.text()));
    }
  } catch (const base::IoError& error) {
    nissa::log::warning(std::string("cannot write kernel_trace.json: ") + error.what());
  }
}

void publish_trace(FileSystem& files, const RunFolder& folder, base::Ledger& ledger) {
  if (!ledger.watch().spans()) return;
  ledger.settle();
  try {
    storage::publish_file(files, folder.trace(), storage::bytes_of(base::chrome_trace(ledger, folder.run_id())));
  } catch (const base::IoError& error) {
    nissa::log::warning(std::string("cannot write trace.json: ") + error.what());
  }
}

}  // namespace esper::engine
