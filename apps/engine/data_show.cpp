// `esper data show`: what a data set holds, as a run would read it.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/json_struct.h"
#include "base/text/rounding.h"
#include "base/text/standard_output.h"
#include "data/class_counts.h"
#include "data/loading/loader.h"
#include "engine/commands.h"
#include "engine/training_setup.h"
#include "engine/trusted_programs.h"

namespace esper::engine {
namespace {

using base::shortest_number;
using base::write_line;
using config::Task;
using data::Dataset;
using data::name_of_class;
using nlohmann::ordered_json;

constexpr std::int64_t kShownSamples = 3, kShownNumbers = 12;
constexpr std::size_t kShownClasses = 30;

bool is_sequence(const Dataset& set) { return set.shape.kind == leyline::SampleKind::kTokens; }

struct Range {
  float least = 0, most = 0, mean = 0;
};

// Of target `column` of all samples.
Range range_of(const Dataset& set, std::int64_t column) {
  const auto values = set.targets.select(1, column);
  return {values.min().item<float>(), values.max().item<float>(),
          static_cast<float>(values.to(torch::kDouble).mean().item<double>())};
}

// Its first numbers.
ordered_json json_values_of(const torch::Tensor& tensor) {
  const auto flat = tensor.flatten();
  auto list = ordered_json::array();
  for (std::int64_t i = 0; i < std::min(flat.numel(), kShownNumbers); ++i) {
    flat.is_floating_point() ? list.push_back(shortest_number(flat[i].item<float>()))
                             : list.push_back(flat[i].item<std::int64_t>());
  }
  return list;
}

ordered_json target_json(const Dataset& set, const torch::Tensor& target) {
  const bool has_classes = !is_sequence(set) && target.scalar_type() == torch::kInt64;
  if (has_classes && target.dim() == 0) return name_of_class(set, target.item<std::int64_t>());
  return json_values_of(target);
}

// The first samples as the network gets them, but not standardised.
ordered_json samples_json(const Dataset& set) {
  data::LoaderConfig config;
  config.batch_size = kShownSamples;
  config.workers = 0;
  config.order = data::Order::kSequential;
  data::Loader loader(set, {}, config);
  const auto batch = loader.next();
  auto samples = ordered_json::array();
  for (std::int64_t i = 0; batch && i < batch->size; ++i) {
    samples.push_back({{"input", json_values_of(batch->inputs[i])}, {"target", target_json(set, batch->targets[i])}});
  }
  return samples;
}

ordered_json balance_json(const data::Splits& data) {
  auto classes = ordered_json::array();
  const auto train = data::class_counts(data.train), validation = data::class_counts(data.validation);
  for (std::size_t i = 0; i < train.size(); ++i) {
    classes.push_back({{"name", name_of_class(data.train, static_cast<std::int64_t>(i))},
                       {"train", train[i]},
                       {"validation", i < validation.size() ? validation[i] : 0}});
  }
  return classes;
}

ordered_json ranges_json(const Dataset& set) {
  auto targets = ordered_json::array();
  for (std::int64_t k = 0; k < set.targets.size(1); ++k) {
    const auto range = range_of(set, k);
    targets.push_back({{"name", name_of_class(set, k)},
                       {"least", shortest_number(range.least)},
                       {"most", shortest_number(range.most)},
                       {"mean", shortest_number(range.mean)}});
  }
  return targets;
}

ordered_json report_of(const config::RunConfig& config, const data::Splits& data) {
  const auto& train = data.train;
  ordered_json report;
  report["kind"] = base::name_of(config.data.kind);
  report["path"] = config.data.path;
  report["task"] = base::name_of(config.task);
  report["samples"] = {{"train", data::num_samples(train)},
                       {"validation", data::num_samples(data.validation)},
                       {"skipped", data.skipped}};
  report["input_shape"] = train.shape.sizes();
  report["outputs"] = train.shape.num_classes;
  const bool has_classes = !data::class_counts(train).empty();
  if (has_classes) report["classes"] = balance_json(data);
  if (!has_classes && !train.process && !is_sequence(train)) report["targets"] = ranges_json(train);
  if (!train.table.inputs.empty()) report["columns"] = base::to_json(train.table);
  report["first_samples"] = samples_json(train);
  return report;
}

std::string text_of(const ordered_json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void print_classes(const ordered_json& report) {
  const auto& classes = report["classes"];
  double all = 0;  // samples, or their pixels
  for (const auto& one : classes) all += one["train"].get<double>();
  write_line(fmt::format("classes      {}", classes.size()));
  for (std::size_t i = 0; i < std::min(classes.size(), kShownClasses); ++i) {
    const auto train = classes[i]["train"].get<std::int64_t>();
    write_line(fmt::format("  {:<24} {:>9} training ({:.1f} %), {} validation{}", text_of(classes[i]["name"]), train,
                           100 * static_cast<double>(train) / std::max(all, 1.0),
                           classes[i]["validation"].get<std::int64_t>(), train == 0 ? "; none to learn from" : ""));
  }
  if (classes.size() > kShownClasses) write_line(fmt::format("  and {} more", classes.size() - kShownClasses));
}

void print_columns(const data::TableEncoding& table) {
  write_line("columns");
  for (const auto& input : table.inputs) {
    const auto shown = std::min<std::size_t>(input.words.size(), 8);
    const std::vector<std::string> words(input.words.begin(), input.words.begin() + static_cast<std::ptrdiff_t>(shown));
    write_line(fmt::format("  {:<24} {}", input.name,
                           !input.is_word ? "number"
                                          : fmt::format("{} words: {}{}", input.words.size(), base::joined(words),
                                                        shown < input.words.size() ? ", ..." : "")));
  }
}

void print(const ordered_json& report, const data::Splits& data) {
  const auto& samples = report["samples"];
  write_line(fmt::format("kind         {}, task {}", text_of(report["kind"]), text_of(report["task"])));
  write_line(fmt::format("samples      {} training, {} validation, {} skipped", samples["train"].dump(),
                         samples["validation"].dump(), samples["skipped"].dump()));
  write_line(fmt::format("input        {}", report["input_shape"].dump()));
  write_line(fmt::format("outputs      {}", report["outputs"].dump()));
  if (report.contains("classes")) print_classes(report);
  if (report.contains("targets")) {
    write_line("targets      of the training part");
    for (const auto& target : report["targets"]) {
      write_line(fmt::format("  {:<24} {} to {}, mean {}", text_of(target["name"]), target["least"].dump(),
                             target["most"].dump(), target["mean"].dump()));
    }
  }
  if (report.contains("columns")) print_columns(data.train.table);
  write_line("first samples");
  for (const auto& sample : report["first_samples"]) {
    const bool cut = sample["input"].size() == static_cast<std::size_t>(kShownNumbers);
    write_line(fmt::format("  {}{} -> {}", sample["input"].dump(), cut ? " ..." : "", text_of(sample["target"])));
  }
}

}  // namespace

int run(const ShowDataRequest& request) {
  // The command line is the user's own word.
  if (request.config.data.kind == config::DataKind::kProcess) trust_program(request.config.data.command);
  const auto data = load_data(request.config, "", data::TestPart::kUnread);
  const auto report = report_of(request.config, data);
  request.json ? base::write_json(report) : print(report, data);
  return 0;
}

}  // namespace esper::engine
