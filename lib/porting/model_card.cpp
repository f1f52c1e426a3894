#include "porting/model_card.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/names.h"
#include "base/text/joined.h"
#include "porting/python/seed_text.h"

namespace esper::porting {
namespace {

using leyline::SampleKind;

constexpr std::size_t kMostNames = 20;

std::string state_of(const kasmina::Slot& slot) {
  const auto& seed = *slot.seed;
  if (seed.folded) return "fossil, folded into " + slot.site.taken_by;
  if (!is_part(slot)) return "not part of the network: alpha 0";
  const auto alpha = seed.scalars.alpha.item<float>();
  if (slot.stage == leyline::Stage::kFossilized) return alpha == 1 ? "fossil" : fmt::format("fossil, alpha {}", alpha);
  return fmt::format("{}, alpha {}", base::name_of(slot.stage), alpha);
}

// A cell of a table stays one.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|' || c == '`') safe += '\\';
    safe += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return safe;
}

std::string epoch_text(const std::optional<std::uint32_t>& epoch) { return epoch ? std::to_string(*epoch) : ""; }

std::string seeds_text(const ModelCard& card) {
  if (card.seeds.empty()) return "Nothing: it is the host that the run began with.\n";
  std::string text =
      "| module | blueprint | slot | state | parameters | germinated after epoch | fossil after epoch |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const auto& seed : card.seeds) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", seed.id, cell(seed.blueprint), seed.slot,
                        cell(seed.state), seed.parameters, epoch_text(seed.born_epoch), epoch_text(seed.ended_epoch));
  }
  return text;
}

std::string figures_text(const ModelCard& card) {
  if (card.figures.empty()) return "None: no epoch of this network has ended.\n";
  std::string text = "| metric | validation |\n|---|---|\n";
  for (const auto& [metric, value] : card.figures) text += fmt::format("| {} | {:.6g} |\n", cell(metric), value);
  return text;
}

std::string inputs_text(const data::Preprocessing& it) {
  const auto sizes = base::joined(it.shape.sizes(), " x ");
  if (it.shape.kind == SampleKind::kTokens) return fmt::format("int64 tokens, at most {}", sizes);
  return fmt::format("float32 {}{}{}", sizes, it.element == data::Element::kPixel ? ", pixels divided by 255" : "",
                     it.standardization.mean.empty() ? "" : ", standardised");
}

// format: weights alone are those of the network that was trained.
std::string outputs_text(const data::Preprocessing& it, std::string_view format) {
  auto text = fmt::format("{} for task {}", it.shape.num_classes, base::name_of(it.task));
  if (!it.standardization.target_mean.empty()) {
    text += format == "safetensors" ? ", standardised (target_mean and target_deviation in preprocessing.json)"
                                    : ", in the data's units";
  }
  if (it.class_names.empty() || it.class_names.size() > kMostNames) return text;
  return text + ": " + base::joined(it.class_names, ", ", cell);
}

constexpr std::pair<std::string_view, std::string_view> kUses[] = {
    {"pytorch",
     "import torch, model  # model.py; it needs PyTorch alone\n"
     "network = model.load()  # weights.safetensors beside it\n"
     "with torch.no_grad():\n"
     "    outputs = network(model.preprocess(SAMPLES))\n"},
    {"pt2",
     "import torch\n"
     "network = torch.export.load(\"model.pt2\").module()\n"
     "outputs = network(inputs)  # prepared; the batch size is free\n"},
    {"aoti",
     "import torch\n"
     "network = torch._inductor.aoti_load_package(\"model_aoti.pt2\")  # compiled for this kind of processor\n"
     "outputs = network(inputs)  # prepared; the batch size is free\n"},
    {"onnx",
     "import onnxruntime\n"
     "network = onnxruntime.InferenceSession(\"model.onnx\")\n"
     "outputs = network.run(None, {\"input\": inputs})[0]  # prepared, as a numpy array; the batch size is free\n"},
    {"safetensors",
     "from safetensors.torch import load_file\n"
     "weights = load_file(\"weights.safetensors\")  # by name: \"host.head.weight\", \"seed_0001.up.weight\"\n"}};

std::string usage_of(const ModelCard& card, const data::Preprocessing& preprocessing) {
  std::string text(
      std::ranges::find(kUses, card.format, &std::pair<std::string_view, std::string_view>::first)->second);
  const bool is_tokens = preprocessing.shape.kind == SampleKind::kTokens;
  if (const auto at = text.find("SAMPLES"); at != std::string::npos) {
    text.replace(at, 7,
                 !is_tokens                                      ? "samples"
                 : preprocessing.kind == config::DataKind::kText ? "\"a text\""
                                                                 : "[0, 1]");
  }
  return "```python\n" + text + "```\n";
}

std::string check_text(const ModelCard& card) {
  if (!card.difference) return "the tensors were read back";
  return fmt::format("its outputs differ from Esper's by at most {:.2g} of the largest output ({})", *card.difference,
                     card.checked_by);
}

}  // namespace

std::vector<CardSeed> card_seeds(const kasmina::NetworkState& network) {
  std::vector<CardSeed> seeds;
  for (const auto& slot : network.structure.slots) {
    if (!slot.seed) continue;
    const auto& seed = *slot.seed;
    seeds.push_back({seed.id,
                     kasmina::name_of(seed.kind),
                     slot.site.id,
                     state_of(slot),
                     seed.module.tensors.num_parameters(),
                     {},
                     {}});
  }
  return seeds;
}

std::int64_t card_parameters(const kasmina::NetworkState& network) {
  auto count = network.host.tensors.num_parameters();
  for (const auto& slot : network.structure.slots) {
    if (is_part(slot)) count += slot.seed->module.tensors.num_parameters();
  }
  return count;
}

std::string model_card(const ModelCard& card, const data::Preprocessing& preprocessing) {
  return fmt::format(
      "# {}\n\n"
      "A network that Esper trained and grew, as {}.\n\n"
      "| | |\n|---|---|\n"
      "| host | {} |\n| parameters | {}{} |\n| inputs | {} |\n| outputs | {} |\n"
      "| checkpoint | {}, epoch {}, step {} |\n| checked | {} |\n\n"
      "## Use\n\n{}\n"
      "`preprocessing.json` says what inputs are made of and what outputs mean.\n\n"
      "## What grew\n\n{}\n"
      "## Figures\n\n{}\n"
      "## How it was made\n\n"
      "`config.yaml` is the run's resolved configuration. Fingerprint of training and validation data: `{}`.\n"
      "Esper {}, PyTorch {}.\n",
      cell(card.run), card.format, card.host, card.parameters, card.is_averaged ? ", averages over training steps" : "",
      inputs_text(preprocessing), outputs_text(preprocessing, card.format), cell(card.checkpoint), card.epoch,
      card.step, check_text(card), usage_of(card, preprocessing), seeds_text(card), figures_text(card), card.data,
      card.esper, card.torch);
}

}  // namespace esper::porting
