#include "lanes/shape/recipe_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lanes/shape/compile_cost.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {

using program::CompileEffort;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

std::string whole(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

// After every lowering was tried, the fastest of those that reached a trial is compiled with full effort, unless it
// already was. One that was quarantined since then, and is not to be compiled again, is none of them.
void choose_recipe(const LaneContext& context, StepShape& shape) {
  LaneSearch& search = shape.search;
  program::CompileService& compile_service = *context.services.compile_service;
  const program::SymbolicProgram program = shape.to_compile();
  std::erase_if(search.recipe_us, [&](const auto& measured) {
    return compile_service.cache().why_unusable(compile_service.key(program, measured.first)).has_value();
  });
  if (search.recipe_us.empty()) return;
  const auto winner = std::ranges::min_element(search.recipe_us, {}, [](const auto& item) { return item.second; });
  if (search.recipe_us.size() > 1) compile_service.remember_winner(program, winner->first, search.recipe_us);
  if (!std::exchange(search.wants_full, false) || search.in_full.contains(winner->first)) return;
  search.wanted.push_back({winner->first, CompileEffort::kFull, compile_service.key(program, winner->first)});
}

}  // namespace

std::string list_variants(const LaneContext& context, StepShape& shape) {
  std::string wrong;
  const program::SymbolicProgram program = shape.to_compile();
  // Where kernels are chosen by timing, two compilations may compute different bits under the same key.
  const bool by_timing = context.config.compile.mode == config::CompileMode::kMaxAutotune;
  const CompileEffort first_effort = by_timing ? CompileEffort::kFull : CompileEffort::kQuick;
  program::CompileService& compile_service = *context.services.compile_service;
  for (const std::string& recipe : compile_service.recipes(program)) {
    const std::string key = compile_service.key(program, recipe);
    if (const auto reason = compile_service.cache().why_unusable(key)) {
      wrong = *reason;
    } else {
      shape.search.wanted.push_back({recipe, first_effort, key});
    }
  }
  return wrong;
}

void compile_next(const LaneContext& context, CompileQueue& queue, StepShape& shape) {
  LaneSearch& search = shape.search;
  if (search.wanted.empty()) choose_recipe(context, shape);
  if (search.wanted.empty()) return;
  search.compiling = search.wanted.front();
  search.wanted.pop_front();
  queue.start(shape.to_compile(), *search.compiling);
}

void decide_on_compiling(const LaneContext& context, CompileQueue& queue, StepShape& shape, double step_us,
                         std::int64_t steps_left) {
  shape.search.undecided = false;
  const auto [pays, left_s, cost_s] = weigh_compiling(*shape.program, step_us, steps_left);
  const std::string reason = fmt::format("{}: about {} s of steps are left, and a compilation takes about {} s",
                                         pays ? "prepared" : "skipped", whole(left_s), whole(cost_s));
  context.emit(event("tolaria.lane_chosen"_event, Level::kInfo,
                     {{"lane", "compiled"}, {"steps_left", std::to_string(steps_left)}, {"reason", reason}}));
  if (pays) return compile_next(context, queue, shape);
  shape.search.wanted.clear();
  shape.search.wants_full = false;
}

}  // namespace esper::lanes
