#include "esper/queue/sweep_text.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/aligned.h"
#include "base/text/joined.h"
#include "base/text/printable.h"
#include "esper/output.h"
#include "sweep/expand.h"
#include "sweep/halving.h"

namespace esper {
namespace {

std::vector<int> rungs_of(const sweep::Sweep& sweep) {
  return sweep.settings.method == sweep::Method::kHalving ? sweep::halving_rules(sweep).rungs : std::vector<int>{};
}

std::string shown(const std::string& text) { return base::shortened(base::printable_line(text), 40); }

}  // namespace

std::string sweep_preview(const sweep::Sweep& sweep) {
  const auto all = sweep::configurations(sweep);
  std::string text = fmt::format("sweep      {}\nmethod     {}\njobs       {}: {}, {} {}\n", sweep.settings.name,
                                 base::name_of(sweep.settings.method), all.size() * sweep.seeds.size(),
                                 counted(all.size(), "configuration"), sweep.seeds.size() == 1 ? "seed" : "seeds",
                                 base::joined(sweep.seeds));
  if (const auto rungs = rungs_of(sweep); !rungs.empty())
    text += fmt::format("rungs      after {} epochs\n", base::joined(rungs));
  std::vector<std::vector<std::string>> lines{{"configuration"}};
  for (const auto& parameter : sweep.parameters) lines[0].push_back(parameter.key);
  for (std::size_t at = 0; at < all.size(); ++at) {
    lines.push_back({std::to_string(at)});
    for (const auto& value : all[at]) lines.back().push_back(shown(value));
  }
  return text + "\n" + base::aligned(lines);
}

nlohmann::json sweep_preview_json(const sweep::Sweep& sweep) {
  auto configurations = nlohmann::json::array();
  for (const auto& configuration : sweep::configurations(sweep)) {
    nlohmann::json values;
    for (std::size_t at = 0; at < configuration.size(); ++at) values[sweep.parameters[at].key] = configuration[at];
    configurations.push_back(std::move(values));
  }
  return {{"name", sweep.settings.name},
          {"method", base::name_of(sweep.settings.method)},
          {"seeds", sweep.seeds},
          {"rungs", rungs_of(sweep)},
          {"configurations", std::move(configurations)}};
}

std::string job_counts(const jobs::SweepRecord& sweep) {
  return base::joined(sweep.jobs, ", ",
                      [](const auto& count) { return fmt::format("{} {}", count.second, count.first); });
}

std::string sweep_table(const std::vector<jobs::SweepRecord>& sweeps) {
  std::vector<std::vector<std::string>> lines{{"sweep", "state", "name", "jobs"}};
  for (const auto& sweep : sweeps)
    lines.push_back(
        {std::to_string(sweep.id), std::string(base::name_of(sweep.state)), shown(sweep.name), job_counts(sweep)});
  return base::aligned(lines);
}

}  // namespace esper
