#include "engine/policy/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_struct.h"
#include "base/text/standard_output.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::engine {

using base::write_line;
using nlohmann::ordered_json;
using tamiyo::Provenance;
using tamiyo::RunPart;

namespace {

using Figures = std::map<std::string, double>;

[[noreturn]] void reject(const std::string& path, const std::string& problem) {
  throw base::Error(base::ExitCode::kPolicy, fmt::format("{}: {}", path, problem));
}

std::string count_of(const Provenance& provenance, RunPart part) {
  std::size_t runs = 0;
  std::uint64_t decisions = 0, germinations = 0;
  for (const auto& run : provenance.runs) {
    if (run.part != part) continue;
    ++runs;
    decisions += run.decisions;
    germinations += run.germinations;
  }
  return fmt::format("{} runs, {} decisions, {} germinations", runs, decisions, germinations);
}

void print_agreement(const char* part, const std::string& count, const Figures& figures) {
  write_line(fmt::format("{}: {}", part, count));
  const auto value = [&figures](const char* name) {
    const auto found = figures.find(name);
    return found == figures.end() ? std::string("-") : fmt::format("{:.1f} %", 100 * found->second);
  };
  if (figures.empty()) return;
  write_line(fmt::format("  germinate or wait as the teacher   {} (always the same answer: {}), balanced {} (50 %)",
                         value("accuracy"), value("baseline_accuracy"), value("balanced_accuracy")));
  write_line(fmt::format("  of its germinations {}, of its waits {}", value("germinations_met"), value("waits_met")));
  write_line(fmt::format("  its slot {} (drawn: {}), its blueprint {} (always the most frequent: {})",
                         value("slot_agreement"), value("slot_baseline"), value("blueprint_agreement"),
                         value("blueprint_baseline")));
  if (const auto apart = figures.find("first_epochs_apart"); apart != figures.end()) {
    write_line(fmt::format("  a run's first germination {:.1f} epochs apart", apart->second));
  }
}

void print_provenance(const Provenance& provenance) {
  write_line(fmt::format("method: {}; teacher: {}", provenance.method, provenance.teacher));
  write_line(fmt::format("made on {} by esper {}:", provenance.date, provenance.esper));
  write_line("  " + provenance.command);
  print_agreement("learned from", count_of(provenance, RunPart::kTraining), provenance.training);
  print_agreement("held out", count_of(provenance, RunPart::kHeldOut), provenance.held_out);
  for (const auto& run : provenance.runs) {
    write_line(fmt::format("  {} {} {}: {} decisions, {} germinations", base::name_of(run.part), run.digest, run.name,
                           run.decisions, run.germinations));
  }
}

ordered_json figures_json(const Figures& figures) {
  auto shown = ordered_json::object();
  for (const auto& [name, value] : figures) shown[name] = base::number_json(value);
  return shown;
}

ordered_json provenance_json(const Provenance& provenance) {
  auto runs = ordered_json::array();
  for (const auto& run : provenance.runs) {
    runs.push_back({{"name", run.name},
                    {"digest", run.digest},
                    {"part", base::name_of(run.part)},
                    {"decisions", run.decisions},
                    {"germinations", run.germinations}});
  }
  return {{"method", provenance.method},
          {"teacher", provenance.teacher},
          {"command", provenance.command},
          {"date", provenance.date},
          {"esper", provenance.esper},
          {"settings", figures_json(provenance.settings)},
          {"runs", std::move(runs)},
          {"training", figures_json(provenance.training)},
          {"held_out", figures_json(provenance.held_out)}};
}

}  // namespace

ShownPolicy read_shown_policy(const std::string& path) {
  auto& files = storage::real_file_system();
  if (files.kind_of(path) != base::PathKind::kFile) reject(path, "it is not a file");
  std::vector<std::byte> bytes;
  try {
    bytes = storage::read_file(files, path, tamiyo::kMaxPolicyBytes);
  } catch (const base::IoError& error) {
    reject(path, error.what());
  }
  auto stored = tamiyo::read_stored_policy(bytes);
  if (!stored) reject(path, stored.error());
  const std::size_t tensors = stored->policy.weights.size();
  auto policy = tamiyo::complete(*std::move(stored));
  if (!policy) reject(path, policy.error());
  return {path, bytes.size(), tensors, *std::move(policy)};
}

void print_policy(const ShownPolicy& shown) {
  const auto& [path, bytes, tensors, policy] = shown;
  write_line(fmt::format("{}: {:.2f} MB, weights {}", path, static_cast<double>(bytes) / 1e6,
                         tamiyo::fingerprint(policy.weights)));
  if (policy.drawn_from) {
    write_line(fmt::format("{} of {} tensors are in the file, the others are drawn from seed {}", tensors,
                           tamiyo::network_tensors().size(), *policy.drawn_from));
  }
  for (const auto& [key, value] : policy.metadata) write_line(fmt::format("{}: {}", key, value));
  if (policy.provenance) return print_provenance(*policy.provenance);
  write_line("it does not say where it comes from");
}

ordered_json policy_json(const ShownPolicy& shown) {
  const auto& [path, bytes, tensors, policy] = shown;
  return {{"file", path},
          {"bytes", bytes},
          {"weights", tamiyo::fingerprint(policy.weights)},
          {"tensors", {{"in_file", tensors}, {"drawn", tamiyo::network_tensors().size() - tensors}}},
          {"drawn_from", policy.drawn_from ? ordered_json(*policy.drawn_from) : ordered_json()},
          {"normaliser", tamiyo::normaliser_json(policy.normaliser)},
          {"metadata", policy.metadata},
          {"provenance", policy.provenance ? provenance_json(*policy.provenance) : ordered_json()}};
}

}  // namespace esper::engine
