// `esper import`: a PyTorch model becomes a folder that host.path can name.

#include <fmt/core.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/text/standard_output.h"
#include "config/facts/exported_host.h"
#include "engine/commands.h"
#include "engine/importing/exporter.h"
#include "engine/scratch.h"
#include "kasmina/host/host.h"
#include "kasmina/host/host_package.h"
#include "kasmina/tensor/stored_tensor.h"
#include "storage/file_tools.h"
#include "storage/moved_away.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"

namespace esper::engine {
namespace {

using base::ExitCode;
using config::ExportedHost;
using kasmina::Host;
using kasmina::Mode;
using Tensors = std::map<std::string, torch::Tensor>;

constexpr std::uint64_t kMostCheckBytes = 1ull << 40;
constexpr double kMostDifference = 1e-4;  // relative to the largest output
// Relative to the largest gradient. Rounding of another convolution switches a ReLU of a ResNet, which makes 1e-2.
constexpr double kMostGradientDifference = 5e-2;

[[noreturn]] void refuse_import(ExitCode code, const std::string& text) { throw base::Error(code, text); }

std::vector<std::string> arguments_of(const ImportRequest& request) {
  // One word each: a value may begin with a dash.
  std::vector<std::string> arguments{"--source=" + request.source, "--example=" + request.example,
                                     "--seed=" + std::to_string(request.seed)};
  if (!request.output.empty()) arguments.push_back("--output=" + request.output);
  for (const auto& argument : request.arguments) arguments.push_back("--argument=" + argument);
  if (!request.weights.empty()) arguments.push_back("--weights=" + request.weights);
  if (!request.license.empty()) arguments.push_back("--license=" + request.license);
  return arguments;
}

// The samples that the network was imported for.
leyline::SampleShape sample_of(const ExportedHost& host) {
  constexpr std::size_t kImageRank = 3;
  if (host.takes_tokens) return leyline::tokens_shape(host.input.front(), host.output.back());
  if (host.input.size() == kImageRank) {
    return leyline::image_shape(host.input[0], host.input[1], host.input[2], host.output.front());
  }
  return leyline::features_shape(host.input.front(), host.output.front());
}

Host build(const std::string& folder, const ExportedHost& host) {
  config::HostConfig config;
  config.kind = config::HostKind::kExported;
  config.path = folder;
  return kasmina::build_host(config, sample_of(host), 0, torch::kCPU);
}

torch::Tensor plain_forward(const Host& host, const torch::Tensor& inputs, Mode mode) {
  return host.forward(inputs, mode,
                      [](std::size_t, const kasmina::BlockOutput& from) { return kasmina::SlotOutput(from.feature); });
}

// Batches and what the model says of them.
Tensors read_check(const std::string& file) {
  const auto loaded = storage::load_safetensors(storage::real_file_system(), file, kMostCheckBytes);
  if (!loaded) refuse_import(ExitCode::kBug, loaded.error().problem);
  Tensors tensors;
  for (const auto& view : loaded->contents.tensors) tensors[view.name] = kasmina::tensor_of(view)->tensor;
  return tensors;
}

// Relative to the largest finite number that is expected; NaN where one of them has a NaN.
double difference_of(const torch::Tensor& actual, const torch::Tensor& expected) {
  const auto nothing = at::zeros_like(expected);
  const auto largest = at::where(expected.isfinite(), expected.abs(), nothing).max().clamp_min(1e-12);
  const auto apart = at::where(actual.detach() == expected, nothing, (actual.detach() - expected).abs());
  return (apart.max() / largest).item<double>();
}

// NaN is worse than any number.
double worse_of(double a, double b) { return std::isnan(b) || b > a ? b : a; }

double compare_evaluation(const Host& host, const Tensors& check) {
  const at::NoGradGuard no_grad;
  double worst = 0;
  for (const auto& [name, inputs] : check) {
    constexpr std::string_view kInput = "input.";
    if (!name.starts_with(kInput)) continue;
    const auto& expected = check.at("output." + name.substr(kInput.size()));
    worst = worse_of(worst, difference_of(plain_forward(host, inputs, Mode::kEvaluate), expected));
  }
  return worst;
}

// A buffer with a gradient's history would be a part of the next step's graph.
void require_plain_buffers(const Host& host) {
  for (const auto& [id, buffer] : host.tensors.buffers) {
    if (!buffer.requires_grad()) continue;
    refuse_import(ExitCode::kConfig, fmt::format("the model writes numbers that carry a gradient into its buffer {}; "
                                                 "write them under torch.no_grad(), or .detach() them",
                                                 id.substr(id.find('.') + 1)));
  }
}

// Of half the square of what a training forward returned, by parameter; zeros where one is not used.
Tensors gradients_of(const Host& host, const torch::Tensor& output) {
  std::vector<torch::Tensor> parameters;
  for (const auto& [id, tensor] : host.tensors.parameters) parameters.push_back(tensor);
  const auto made = torch::autograd::grad({output}, parameters, {output.detach()}, std::nullopt, false,
                                          /*allow_unused=*/true);
  Tensors gradients;
  std::size_t at = 0;
  for (const auto& [id, tensor] : host.tensors.parameters) {
    const auto& gradient = made[at++];
    gradients[id] = gradient.defined() ? gradient : at::zeros_like(tensor);
  }
  return gradients;
}

void require_same_gradients(const Tensors& actual, const Tensors& check) {
  std::vector<torch::Tensor> all_actual, all_expected;
  for (const auto& [id, gradient] : actual) {
    const auto expected = check.find("train.gradient." + id);
    all_actual.push_back(gradient.flatten());
    all_expected.push_back(expected == check.end() ? at::zeros_like(all_actual.back()) : expected->second.flatten());
  }
  const double difference = difference_of(at::cat(all_actual), at::cat(all_expected));
  if (difference <= kMostGradientDifference) return;
  refuse_import(
      ExitCode::kConfig,
      fmt::format("the imported program does not train like the model: gradients differ by {:.2g} of the largest",
                  difference));
}

double compare_training(const Host& host, const Tensors& check) {
  const auto output = plain_forward(host, check.at("train.input"), Mode::kTrain);
  const double difference = difference_of(output, check.at("train.output"));
  if (difference <= kMostDifference) require_same_gradients(gradients_of(host, output), check);
  return difference;
}

// The largest difference of its outputs from those of the model. Batch norm's statistics move.
double compare(const Host& host, const Tensors& check) {
  const double difference = compare_evaluation(host, check);
  const bool is_random = !check.contains("train.input");
  return is_random ? difference : worse_of(difference, compare_training(host, check));
}

// Two steps back through it: every operator has a gradient here, and a step leaves nothing behind that the next one
// would go back through.
void require_gradients(const Host& host, const ExportedHost& facts) {
  auto sizes = facts.input;
  sizes.insert(sizes.begin(), 2);
  const auto inputs = facts.takes_tokens ? at::zeros(sizes, at::kLong) : at::ones(sizes);
  for (int step = 0; step < 2; ++step) {
    require_plain_buffers(host);
    gradients_of(host, plain_forward(host, inputs, Mode::kTrain));
  }
  require_plain_buffers(host);
}

// Nothing but an imported network is ever replaced.
void require_place(const ImportRequest& request) {
  if (storage::real_file_system().kind_of(request.folder) == base::PathKind::kNothing) return;
  if (!request.replace) {
    refuse_import(ExitCode::kConfig, request.folder + " exists; name another folder with --out, or use --replace");
  }
  if (!config::read_exported_host(request.folder)) {
    refuse_import(
        ExitCode::kConfig,
        request.folder +
            " is not an imported network, and --replace replaces only such folders; choose another folder with --out");
  }
}

// How far the package's outputs are from the model's. Gradients are taken, too.
double tried(const std::string& package, const std::string& check_file) {
  try {
    const auto facts = config::read_exported_host(package);
    if (!facts) refuse_import(ExitCode::kBug, facts.error());
    const Host host = build(package, *facts);
    if (host.tensors.parameters.empty()) refuse_import(ExitCode::kConfig, "the model has no trainable parameter");
    const double difference = compare(host, read_check(check_file));
    require_gradients(host, *facts);  // moves batch norm's statistics
    return difference;
  } catch (const c10::Error& error) {
    refuse_import(ExitCode::kConfig,
                  fmt::format("this libtorch cannot run the model: {}", error.what_without_backtrace()));
  }
}

// Tries the package where it was made, and publishes it if it agrees with the model.
double publish_checked(const Scratch& scratch, const ImportRequest& request) {
  auto& files = storage::real_file_system();
  const std::string package = scratch.path("package"), trial = scratch.path("trial");
  kasmina::publish_host_package(package, files, trial);
  const double difference = tried(trial, package + "/check.safetensors");
  if (std::isnan(difference)) {
    refuse_import(ExitCode::kConfig,
                  "the model's outputs for random inputs are not all numbers (NaN), or the imported program's are not, "
                  "so that they cannot be compared; are the model's weights finite?");
  }
  if (difference > kMostDifference) {
    refuse_import(
        ExitCode::kConfig,
        fmt::format(
            "the imported program does not match the model: outputs differ by {:.2g} of the largest; does the model "
            "draw random numbers in evaluation, change with the inputs that it had before, or use x.shape[0] in an if, "
            "a .chunk() or a .split()?",
            difference));
  }
  require_place(request);  // for what came there since
  std::optional<storage::MovedAway> old;
  if (files.kind_of(request.folder) != base::PathKind::kNothing) old.emplace(files, request.folder);
  kasmina::publish_host_package(trial, files, request.folder);
  if (old) old->set_replaced();
  return difference;
}

}  // namespace

int run(const ImportRequest& request) {
  require_place(request);
  storage::ensure_folder(storage::real_file_system(), storage::parent_of(request.folder));  // before the long work
  const Scratch scratch;
  auto said = run_exporter(arguments_of(request), scratch.path("package"));
  said["largest_difference"] = publish_checked(scratch, request);
  said["folder"] = request.folder;
  if (request.json) {
    base::write_json(said);
    return 0;
  }
  base::write_text(fmt::format(
      "{}: {} parameters in {} operations; {} slots at the ends of blocks, {} places in all (esper import --show {})\n"
      "it agrees with PyTorch to {:.1e} of the largest output\n",
      request.folder, said["parameters"].get<std::int64_t>(), said["operations"].get<std::int64_t>(),
      said["slots"].get<std::int64_t>(), said["sites"].get<std::int64_t>(), request.folder,
      said["largest_difference"].get<double>()));
  return 0;
}

}  // namespace esper::engine
