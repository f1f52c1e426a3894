#pragma once
// A summary as JSON, both ways (base/text/json_struct.h): the daemon sends it, the command that shows it reads it.

#include <array>
#include <tuple>
#include <utility>

#include "base/text/json_struct.h"
#include "sweep/summary.h"

namespace esper::sweep {

constexpr auto names(SeedFigure::State) {
  using S = SeedFigure::State;
  return std::array{std::pair{S::kPending, "pending"}, std::pair{S::kDone, "done"}, std::pair{S::kFailed, "failed"}};
}

constexpr auto json_members(const SeedFigure*) {
  using base::json_member;
  return std::tuple{json_member("seed", &SeedFigure::seed), json_member("state", &SeedFigure::state),
                    json_member("value", &SeedFigure::value)};
}

constexpr auto json_members(const SummaryRow*) {
  using base::json_member;
  using R = SummaryRow;
  return std::tuple{json_member("configuration", &R::configuration),
                    json_member("parameters", &R::parameters),
                    json_member("epochs", &R::epochs),
                    json_member("seeds", &R::seeds),
                    json_member("done", &R::done),
                    json_member("failed", &R::failed),
                    json_member("mean", &R::mean),
                    json_member("half_width", &R::half_width)};
}

constexpr auto json_members(const Comparison*) {
  using base::json_member;
  using C = Comparison;
  return std::tuple{json_member("best", &C::best),
                    json_member("second", &C::second),
                    json_member("pairs", &C::pairs),
                    json_member("lead", &C::lead),
                    json_member("low", &C::low),
                    json_member("high", &C::high),
                    json_member("excludes_zero", &C::excludes_zero)};
}

constexpr auto json_members(const Summary*) {
  using base::json_member;
  using S = Summary;
  return std::tuple{json_member("name", &S::name),
                    json_member("metric", &S::metric),
                    json_member("goal", &S::goal),
                    json_member("complete", &S::complete),
                    json_member("rows", &S::rows),
                    json_member("best", &S::best),
                    json_member("comparison", &S::comparison)};
}

}  // namespace esper::sweep
