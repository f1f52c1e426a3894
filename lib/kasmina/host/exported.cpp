// A PyTorch model that `esper import` took over: its programs run call by call, cut where its slots are.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text/printable.h"
#include "config/facts/exported_host.h"
#include "kasmina/host/hosts.h"
#include "kasmina/tensor/stored_tensor.h"
#include "leyline/slot_id.h"
#include "program/interpreter.h"
#include "program/norm_momentum.h"
#include "storage/file_tools.h"
#include "storage/published_folder.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"

namespace esper::kasmina {
namespace {

using config::ExportedHost;
using config::ExportedSite;
using program::ModelProgram;
using program::ValueId;
using Tensors = std::map<std::string, torch::Tensor>;
using Cut = ExportedSite::Cut;

constexpr std::uint64_t kMostProgramBytes = 256ull << 20;
constexpr std::uint64_t kMostWeightBytes = 1ull << 40;

[[noreturn]] void refuse(const std::string& folder, const std::string& problem) {
  throw base::Error(base::ExitCode::kData, fmt::format("{}: {}; import the model again", folder, problem));
}

void require_whole(const std::string& folder) {
  const auto manifest = storage::verify_folder(storage::real_file_system(), folder);
  if (!manifest) refuse(folder, manifest.error().problem);
}

ModelProgram read_program(const std::string& folder, const std::string& name) {
  const auto bytes = storage::read_file(storage::real_file_system(), folder + "/" + name, kMostProgramBytes);
  auto program = program::parse_model_program({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!program) refuse(folder, name + ": " + program.error());
  return *std::move(program);
}

Tensors read_weights(const std::string& folder) {
  const auto loaded =
      storage::load_safetensors(storage::real_file_system(), folder + "/weights.safetensors", kMostWeightBytes);
  if (!loaded) refuse(folder, "weights.safetensors: " + loaded.error().problem);
  Tensors tensors;
  for (const auto& view : loaded->contents.tensors) {
    const auto tensor = tensor_of(view);
    if (!tensor) refuse(folder, "weights.safetensors: " + tensor.error());
    tensors.emplace(tensor->id, tensor->tensor);
  }
  return tensors;
}

// Of its types and sizes, as the program was exported with them.
void require_tensors(const std::string& folder, const ModelProgram& model, const Tensors& tensors) {
  const auto& program = model.body.program;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const auto& [name, access] = program.inputs[i];
    if (name == program::kModelInput) continue;
    const auto found = tensors.find(name);
    if (found == tensors.end()) refuse(folder, "weights.safetensors has no " + name);
    const auto& type = program.values[i];
    if (found->second.sizes() == type.sizes && found->second.scalar_type() == type.dtype) continue;
    refuse(folder, fmt::format("weights.safetensors has {} of sizes [{}], and the program takes [{}]", name,
                               fmt::join(found->second.sizes(), ", "), fmt::join(type.sizes, ", ")));
  }
}

// Adds them under the scope "host", in order of their names.
Tensors add_tensors(ModuleScope scope, const ExportedHost& host, const Tensors& values, const std::string& folder) {
  constexpr std::string_view kScope = "host.";
  Tensors tensors;
  for (const auto& [id, value] : values) {
    if (!id.starts_with(kScope) || !program::is_tensor_name(id)) {
      refuse(folder, "weights.safetensors has a tensor with an invalid name: " + base::in_quotes(id));
    }
    const std::string name = id.substr(kScope.size());
    const bool learns = std::ranges::find(host.parameters, id) != host.parameters.end();
    if (learns && value.scalar_type() != torch::kFloat32) refuse(folder, id + " is not a float32 tensor");
    tensors[id] = learns ? scope.parameter(name, value) : scope.buffer(name, value);
  }
  return tensors;
}

// Which dimension of a value follows the batch size; -1: none.
std::int64_t rows_of(const ModelProgram& model, ValueId value) {
  using program::NumberPlace;
  const NumberPlace first{NumberPlace::Part::kSize, static_cast<std::size_t>(value)};
  const auto& expressions = model.body.expressions;
  const auto found = expressions.lower_bound(first);
  const bool is_its = found != expressions.end() && found->first.part == first.part && found->first.at == first.at;
  return is_its ? static_cast<std::int64_t>(found->first.element) : -1;
}

// One of the model's programs, run from cut to cut.
class Segments {
 public:
  Segments(const ModelProgram& model, const Tensors& tensors, torch::Device device, const std::vector<Cut>& cuts)
      : output_(model.output), interpreter_(model, tensors, device, values_at(cuts)) {
    for (const Cut& cut : cuts) {
      Place place{cut.value, cut.operation + 1, {}};
      for (const ValueId id : program::live_at(model, place.end)) {
        if (id != cut.value) place.carried.emplace_back(id, rows_of(model, id));
      }
      places_.push_back(std::move(place));
    }
  }

  BlockOutput to_cut(std::size_t slot, const SlotOutput& x) const {
    const Place& place = places_[slot];
    auto values = run_to(slot, x, place.end);
    BlockOutput out(std::move(values[static_cast<std::size_t>(place.feature)]));
    for (const auto& [id, rows] : place.carried) {
      out.carried.push_back({std::move(values[static_cast<std::size_t>(id)]), rows});
    }
    return out;
  }

  torch::Tensor to_output(const SlotOutput& x) const {
    auto values = run_to(places_.size(), x, interpreter_.num_operations());
    return std::move(values[static_cast<std::size_t>(output_)]);
  }

 private:
  struct Place {
    ValueId feature = program::kNoValue;
    std::size_t end = 0;  // the first operation behind it
    std::vector<std::pair<ValueId, std::int64_t>> carried;
  };

  static std::vector<ValueId> values_at(const std::vector<Cut>& cuts) {
    std::vector<ValueId> values;
    for (const Cut& cut : cuts) values.push_back(cut.value);
    return values;
  }

  // From behind the slot before, or the beginning.
  program::Values run_to(std::size_t slot, const SlotOutput& x, std::size_t end) const {
    const std::size_t begin = slot == 0 ? 0 : places_[slot - 1].end;
    auto values = interpreter_.begin(slot == 0 ? x.feature : torch::Tensor());
    if (slot > 0) {
      const Place& from = places_[slot - 1];
      values[static_cast<std::size_t>(from.feature)] = x.feature;
      for (std::size_t i = 0; i < from.carried.size(); ++i) {
        values[static_cast<std::size_t>(from.carried[i].first)] = x.carried[i].tensor;
      }
    }
    interpreter_.run(values, begin, end, x.feature.size(0));
    return values;
  }

  ValueId output_;
  program::Interpreter interpreter_;
  std::vector<Place> places_;
};

void require_cuts(const std::string& folder, const ModelProgram& model, const std::vector<Cut>& cuts) {
  const auto& program = model.body.program;
  for (const Cut& cut : cuts) {
    const bool exists = cut.operation < program.operations.size() && cut.value >= 0;
    const auto makes = [&](const program::Argument& result) {
      const auto ids = program::ids_of(result);
      return std::ranges::find(ids, cut.value) != ids.end();
    };
    if (!exists || std::ranges::none_of(program.operations[cut.operation].results, makes)) {
      refuse(folder, "host.json names a place that its programs do not have");
    }
  }
}

// The layer into which a seed at the site could be folded; empty where there is none, as where the model itself froze
// it.
std::string layer_behind(const std::string& folder, const ExportedHost& host, const ExportedSite& site,
                         const Tensors& values) {
  const std::string id = site.taken_by + ".weight";
  if (site.taken_by.empty() || std::ranges::find(host.frozen, id) != host.frozen.end()) return {};
  const bool learns = std::ranges::find(host.parameters, id) != host.parameters.end();
  const auto weight = values.find(id);
  if (learns && weight != values.end() && weight->second.dim() >= 2 && weight->second.size(1) == site.shape.channels) {
    return site.taken_by;
  }
  refuse(folder,
         fmt::format("host.json names {} as the layer behind {}, and that is not a trainable layer of {} inputs",
                     base::in_quotes(site.taken_by), base::in_quotes(site.path), site.shape.channels));
}

void check_sample(const ExportedHost& host, const leyline::SampleShape& sample) {
  const bool tokens = sample.kind == leyline::SampleKind::kTokens;
  const auto sizes = sample.sizes();
  require_config(
      tokens == host.takes_tokens,
      fmt::format("host.path: {} was imported for {}, and the data's samples are {}", host.source,
                  host.takes_tokens ? "tokens (int64)" : "numbers (float32)", tokens ? "tokens" : "numbers"));
  require_config(
      sizes == host.input,
      fmt::format("host.path: {} was imported for samples of [{}], and the data's are [{}]; set data.shape{} "
                  "if they are the same numbers, or import it with --example {}",
                  host.source, fmt::join(host.input, ", "), fmt::join(sizes, ", "), tokens ? " or data.context" : "",
                  fmt::join(sizes, "x")));
  const std::int64_t outputs = tokens ? host.output.back() : host.output.front();
  const bool fits = tokens ? outputs >= sample.num_classes : outputs == sample.num_classes;
  require_config(fits, fmt::format("host.path: {} has {} outputs, and the data need {}; import it with that many "
                                   "(--arg num_classes={}, if its constructor takes that)",
                                   host.source, outputs, sample.num_classes, sample.num_classes));
}

// The programs of an imported network.
struct Programs {
  Segments training, evaluation;
  std::optional<Segments> read_only;  // training without lasting effects, if it can be had

  const Segments& of(Mode mode) const {
    if (mode == Mode::kEvaluate) return evaluation;
    if (mode == Mode::kTrain) return training;
    ESPER_CHECK(read_only, "this network has no training forward without lasting effects");
    return *read_only;
  }
};

}  // namespace

HostBody build_exported_host(ModuleScope scope, const HostPlan& plan) {
  const std::string& folder = plan.config.path;
  require_whole(folder);
  const auto host = config::read_exported_host(folder);
  if (!host) throw base::Error(base::ExitCode::kData, host.error());
  check_sample(*host, plan.sample);
  const auto training = read_program(folder, "train.json"), evaluation = read_program(folder, "evaluate.json");
  const auto values = read_weights(folder);
  require_tensors(folder, training, values);
  require_tensors(folder, evaluation, values);
  HostBody body;
  std::vector<Cut> in_training, in_evaluation;
  for (const ExportedSite& site : config::named_sites(*host, plan.named)) {
    body.sites.push_back({.id = leyline::slot_id_of(body.sites.size()),
                          .shape = site.shape,
                          .path = site.path,
                          .taken_by = layer_behind(folder, *host, site, values)});
    in_training.push_back(site.training);
    in_evaluation.push_back(site.evaluation);
  }
  require_cuts(folder, training, in_training);
  require_cuts(folder, evaluation, in_evaluation);
  const auto tensors = add_tensors(scope, *host, values, folder);
  const auto silent = program::without_effects(training);
  if (!silent) body.no_shadow = silent.error();
  body.norm_momenta = program::norm_momenta(training);
  const auto programs = std::make_shared<const Programs>(Programs{
      {training, tensors, plan.device, in_training},
      {evaluation, tensors, plan.device, in_evaluation},
      silent ? std::optional<Segments>(std::in_place, *silent, tensors, plan.device, in_training) : std::nullopt});
  body.block = [programs](std::size_t slot, const SlotOutput& x, Mode mode) {
    return programs->of(mode).to_cut(slot, x);
  };
  body.head = [programs](const SlotOutput& x, Mode mode) { return programs->of(mode).to_output(x); };
  return body;
}

}  // namespace esper::kasmina
