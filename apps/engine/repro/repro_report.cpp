#include "engine/repro/repro_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text/joined.h"

namespace esper::engine {
namespace {

using nlohmann::ordered_json;
using program::BadCall;
using program::TensorRange;

// The lines of a long way in between say little.
constexpr std::size_t kMostShown = 12;

std::string numbers_text(const TensorRange& range) {
  if (range.is_finite()) return fmt::format("{:.6g} to {:.6g}", range.min, range.max);
  std::string text;
  if (range.nans > 0) text += fmt::format("{} of {} are NaN", range.nans, range.elements);
  if (range.infinities > 0)
    text += fmt::format("{}{} of {} are infinite", text.empty() ? "" : ", ", range.infinities, range.elements);
  if (range.nans + range.infinities < range.elements)
    text += fmt::format(", the others {:.6g} to {:.6g}", range.min, range.max);
  return text;
}

std::string range_line(std::string_view what, const TensorRange& range) {
  return fmt::format("  {:<6} {:<32} {:<8} [{}]  {}\n", what, range.name.empty() ? "-" : range.name, range.dtype,
                     base::joined(range.shape), numbers_text(range));
}

std::string origin_text(const BadCall& call) {
  if (call.bad_input.empty()) return "its inputs were finite: the operation made it";
  const std::string text = call.bad_input + " was not finite before the step";
  return call.bad_input.starts_with("batch.") ? text + ": the data are wrong" : text;
}

std::string way_text(const std::vector<BadCall>& way) {
  if (way.size() < 2) return {};
  std::string text = "from there\n";
  for (std::size_t i = 1; i < way.size(); ++i) {
    const bool is_shown = i < kMostShown || i + 1 == way.size();
    if (i == kMostShown && !is_shown) text += fmt::format("  ... {} more\n", way.size() - 1 - kMostShown);
    if (!is_shown) continue;
    const auto& output = way[i].outputs.front();
    text += fmt::format("  {:>6}  {:<36} {}{}\n", way[i].number, way[i].operation,
                        output.name.empty() ? "" : output.name + ": ", numbers_text(output));
  }
  return text;
}

ordered_json range_json(const TensorRange& range) {
  return {{"name", range.name}, {"dtype", range.dtype},         {"shape", range.shape}, {"elements", range.elements},
          {"nan", range.nans},  {"infinite", range.infinities}, {"min", range.min},     {"max", range.max}};
}

ordered_json call_json(const BadCall& call) {
  ordered_json inputs = ordered_json::array(), outputs = ordered_json::array();
  for (const auto& range : call.inputs) inputs.push_back(range_json(range));
  for (const auto& range : call.outputs) outputs.push_back(range_json(range));
  return {{"number", call.number},
          {"operation", call.operation},
          {"bad_input", call.bad_input},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)}};
}

}  // namespace

std::string reproduction_text(const Reproduction& found) {
  const auto& facts = found.facts;
  std::string text = fmt::format("{}\nrun {}, epoch {}, step {}: {} (lane {}, learning rate {:.6g})\n", found.bundle,
                                 facts.run_id, facts.epoch, facts.step, facts.reason, facts.lane, facts.learning_rate);
  if (found.result.empty()) return text + "not reproduced: the step is finite now\n";
  text += "reproduced: " + found.result + " is not finite\n";
  if (found.way.empty()) return text + "no operation of the step wrote it\n";
  const BadCall& first = found.way.front();
  text += fmt::format("\nfirst bad operation: {}, call {} of {}\n  {}\n", first.operation, first.number,
                      found.num_calls, origin_text(first));
  for (const auto& range : first.inputs) text += range_line("input", range);
  for (const auto& range : first.outputs) text += range_line("output", range);
  return text + way_text(found.way);
}

ordered_json reproduction_json(const Reproduction& found) {
  ordered_json way = ordered_json::array();
  for (const auto& call : found.way) way.push_back(call_json(call));
  ordered_json first = way.empty() ? ordered_json(nullptr) : way.front();
  const auto& facts = found.facts;
  return {{"bundle", found.bundle},
          {"run", facts.run_id},
          {"step", facts.step},
          {"epoch", facts.epoch},
          {"reason", facts.reason},
          {"lane", facts.lane},
          {"learning_rate", facts.learning_rate},
          {"reproduced", !found.result.empty()},
          {"result", found.result},
          {"calls", found.num_calls},
          {"first", std::move(first)},
          {"way", std::move(way)}};
}

}  // namespace esper::engine
