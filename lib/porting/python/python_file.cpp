#include "porting/python/python_file.h"

#include <fmt/core.h>

#include "base/text/joined.h"
#include "base/text/printable.h"
#include "porting/python/definitions.h"
#include "porting/python/python_call.h"

namespace esper::porting {
namespace {

constexpr char kImports[] =
    "import json\n"
    "import math\n"
    "import pathlib\n"
    "\n"
    "import torch\n"
    "from torch import nn\n"
    "from torch.nn import functional as F\n";

std::string texts(const std::vector<std::string>& items) {
  return "[" + base::joined(items, ", ", python_literal) + "]";
}

std::string numbers(const std::vector<float>& items) {
  return "[" + base::joined(items, ", ", [](float item) { return fmt::format("{}", item); }) + "]";
}

std::string constants(const NetworkSource& source, const data::Preprocessing& preprocessing) {
  const bool is_text = source.sample.kind == leyline::SampleKind::kTokens;
  const auto sizes = source.sample.sizes();
  auto text = fmt::format("INPUT_SHAPE = ({}{})\nCLASS_NAMES = {}\n", base::joined(sizes), sizes.size() == 1 ? "," : "",
                          texts(preprocessing.class_names));
  if (is_text) return text;
  const auto& scale = preprocessing.standardization;
  const int unit = preprocessing.element == data::Element::kPixel ? 255 : 1;
  text += fmt::format("UNIT = {}\nMEAN = {}\nDEVIATION = {}\n", unit, numbers(scale.mean), numbers(scale.deviation));
  if (!source.has_standardised_targets) return text;
  return text + fmt::format("TARGET_MEAN = {}\nTARGET_DEVIATION = {}\n", numbers(scale.target_mean),
                            numbers(scale.target_deviation));
}

// A docstring ends where its quotes do, and a backslash would be an escape.
std::string in_docstring(const std::string& title) {
  std::string text = base::printable_line(title);
  for (char& c : text) {
    if (c == '"' || c == '\\') c = ' ';
  }
  return text;
}

std::string_view preparation_of(const data::Preprocessing& preprocessing) {
  if (preprocessing.element != data::Element::kToken) return preprocessing_of_numbers();
  return preprocessing.kind == config::DataKind::kText ? preprocessing_of_text() : preprocessing_of_tokens();
}

}  // namespace

std::string python_file(NetworkSource source, const data::Preprocessing& preprocessing, const std::string& title) {
  source.has_standardised_targets = !preprocessing.standardization.target_mean.empty();
  const std::string network = network_class(source);
  const auto prepare = preparation_of(preprocessing);
  return fmt::format("\"\"\"{}\"\"\"\n{}\n{}\n\n{}{}\n\n{}\n\n{}", in_docstring(title), kImports,
                     constants(source, preprocessing), definitions_for(network), network, prepare, loading());
}

}  // namespace esper::porting
