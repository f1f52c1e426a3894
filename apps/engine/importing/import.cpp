// `esper import`: a PyTorch model becomes a folder that host.path can name.

#include <fmt/core.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/standard_output.h"
#include "config/facts/exported_host.h"
#include "engine/bench/scratch.h"
#include "engine/commands.h"
#include "engine/importing/exporter.h"
#include "kasmina/host/host.h"
#include "kasmina/host/host_package.h"
#include "kasmina/tensor/stored_tensor.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"
#include "storage/safetensors.h"

namespace esper::engine {
namespace {

using base::ExitCode;
using config::ExportedHost;
using kasmina::Host;
using kasmina::Mode;

constexpr std::uint64_t kMostBytes = 1ull << 40;
constexpr double kMostDifference = 1e-4;  // relative to the largest output

[[noreturn]] void refuse_import(ExitCode code, const std::string& text) { throw base::Error(code, text); }

std::vector<std::string> arguments_of(const ImportRequest& request) {
  std::vector<std::string> arguments{"--source",      request.source, "--example",
                                     request.example, "--seed",       std::to_string(request.seed)};
  for (const auto& argument : request.arguments) arguments.insert(arguments.end(), {"--argument", argument});
  if (!request.weights.empty()) arguments.insert(arguments.end(), {"--weights", request.weights});
  if (!request.license.empty()) arguments.insert(arguments.end(), {"--license", request.license});
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

// The largest difference of its outputs from those of the model, relative to the largest.
double compare(const Host& host, const std::string& check_file) {
  const auto loaded = storage::load_safetensors(storage::real_file_system(), check_file, kMostBytes);
  if (!loaded) refuse_import(ExitCode::kBug, loaded.error().problem);
  std::map<std::string, torch::Tensor> tensors;
  for (const auto& view : loaded->contents.tensors) tensors[view.name] = kasmina::tensor_of(view)->tensor;
  double worst = 0;
  for (const auto& [name, inputs] : tensors) {
    constexpr std::string_view kInput = "input.";
    if (!name.starts_with(kInput)) continue;
    const at::NoGradGuard no_grad;
    const auto expected = tensors.at("output." + name.substr(kInput.size()));
    const auto actual = plain_forward(host, inputs, Mode::kEvaluate);
    const auto largest = expected.abs().max().clamp_min(1e-12);
    worst = std::max(worst, ((actual - expected).abs().max() / largest).item<double>());
  }
  return worst;
}

// One step back through it: every operator has a gradient here.
void require_gradients(const Host& host, const ExportedHost& facts) {
  auto sizes = facts.input;
  sizes.insert(sizes.begin(), 2);
  const auto inputs = facts.takes_tokens ? at::zeros(sizes, at::kLong) : at::ones(sizes);
  std::vector<torch::Tensor> parameters;
  for (const auto& [id, tensor] : host.tensors.parameters) parameters.push_back(tensor);
  if (parameters.empty()) refuse_import(ExitCode::kConfig, "the model has no parameter that learns");
  torch::autograd::grad({plain_forward(host, inputs, Mode::kTrain).sum()}, parameters, {}, std::nullopt, false,
                        /*allow_unused=*/true);
}

// Publishes the package beside its place, and moves it there once it has been tried.
double publish_checked(const bench::Scratch& scratch, const ImportRequest& request) {
  auto& files = storage::real_file_system();
  const std::string trial = request.folder + ".trial";
  storage::remove_published(files, trial);
  kasmina::publish_host_package(scratch.path("package"), files, trial);
  double difference = 0;
  try {
    const auto facts = config::read_exported_host(trial);
    if (!facts) refuse_import(ExitCode::kBug, facts.error());
    const Host host = build(trial, *facts);
    difference = compare(host, scratch.path("package/check.safetensors"));
    require_gradients(host, *facts);
  } catch (const c10::Error& error) {
    storage::remove_published(files, trial);
    refuse_import(ExitCode::kConfig,
                  fmt::format("this libtorch cannot run the model: {}", error.what_without_backtrace()));
  } catch (...) {
    storage::remove_published(files, trial);
    throw;
  }
  if (!(difference <= kMostDifference)) {
    storage::remove_published(files, trial);
    refuse_import(
        ExitCode::kConfig,
        fmt::format("the imported program is not the model: outputs differ by {:.2g} of the largest; does the model "
                    "draw random numbers in evaluation, or change with what it saw?",
                    difference));
  }
  if (request.replace) storage::remove_published(files, request.folder);
  files.rename(trial, request.folder);
  files.sync_folder(storage::parent_of(request.folder));
  return difference;
}

}  // namespace

int run(const ImportRequest& request) {
  auto& files = storage::real_file_system();
  if (!request.replace && files.kind_of(request.folder) != base::PathKind::kNothing) {
    refuse_import(ExitCode::kConfig, request.folder + " exists; name another folder with --out, or use --replace");
  }
  const bench::Scratch scratch;
  auto said = run_exporter(arguments_of(request), scratch.path("package"));
  said["largest_difference"] = publish_checked(scratch, request);
  said["folder"] = request.folder;
  if (request.json) {
    base::write_json(said);
    return 0;
  }
  base::write_text(fmt::format(
      "{}: {} parameters in {} operations; {} slots at the ends of blocks, {} places in all (esper import --show {})\n"
      "evaluation agrees with PyTorch to {:.1e} of the largest output\n",
      request.folder, said["parameters"].get<std::int64_t>(), said["operations"].get<std::int64_t>(),
      said["slots"].get<std::int64_t>(), said["sites"].get<std::int64_t>(), request.folder,
      said["largest_difference"].get<double>()));
  return 0;
}

}  // namespace esper::engine
