#include "engine/target_fit.h"

#include <fmt/core.h>

#include <vector>

#include "base/text/joined.h"
#include "base/text/printable.h"
#include "config/facts/exported_host.h"
#include "data/class_counts.h"
#include "data/files/raw_samples.h"
#include "data/files/target_number.h"

namespace esper::engine {
namespace {

using Sizes = std::vector<std::int64_t>;

// Of one sample; of classes without the dimension that they are in. Built-in hosts have one output for each class.
base::Expected<Sizes> output_sizes(const config::RunConfig& config, const data::Dataset& data) {
  const bool numbers = data::has_number_targets(config.task);
  if (config.host.kind != config::HostKind::kExported) return numbers ? Sizes{data.shape.num_classes} : Sizes{};
  const auto host = config::read_exported_host(config.host.path);
  if (!host) return base::failure(host.error());
  return numbers ? host->output : Sizes(host->output.begin() + 1, host->output.end());
}

std::string text_of(const Sizes& sizes, bool numbers) {
  if (numbers) return fmt::format("numbers of shape [{}]", base::joined(sizes));
  if (sizes.empty()) return "one class for each sample";
  return fmt::format("a class for each of {} {}", base::joined(sizes, " x "), sizes.size() == 2 ? "pixels" : "places");
}

}  // namespace

std::string misfit_of_targets(const config::RunConfig& config, const data::Dataset& data) {
  if (data.shape.kind == leyline::SampleKind::kTokens) return "";
  const auto outputs = output_sizes(config, data);
  if (!outputs) return "";
  const Sizes targets(data.targets.sizes().begin() + 1, data.targets.sizes().end());
  const bool numbers = data::has_number_targets(config.task);
  // [K, 1, 1] are K numbers, and 1 x 1 pixels one class.
  const auto count = data::elements_of(targets);
  if (targets == *outputs || (count == data::elements_of(*outputs) && (numbers || count == 1))) return "";
  return fmt::format(
      "the data have {}, and the network's outputs are for {}; name other targets, or import a network for these "
      "(esper import, host.path)",
      text_of(targets, numbers), text_of(*outputs, numbers));
}

std::string doubt_of_targets(const config::RunConfig& config, const data::Dataset& data) {
  constexpr double kLarge = 100;
  if (config.task != config::Task::kRegression || config.data.standardize_targets || data.process) return "";
  for (std::int64_t k = 0; k < data.targets.size(1); ++k) {
    const auto size = data.targets.select(1, k).to(torch::kDouble).square().mean().sqrt().item<double>();
    if (size <= kLarge) continue;
    return fmt::format(
        "the numbers of target {} are large (root of their mean square: {:.0f}), and targets are not standardised: a "
        "network learns numbers of about 1 far better, so set data.standardize_targets: true",
        base::in_quotes(data::name_of_class(data, k)), size);
  }
  return "";
}

}  // namespace esper::engine
