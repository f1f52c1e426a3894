#pragma once
// How much time the compiler may take for a package.

#include <array>
#include <utility>

namespace esper::program {

// quick: ready soonest, its wrapper hardly optimised; full: the fastest step. Both compute the same.
enum class CompileEffort { kQuick, kFull };
constexpr auto names(CompileEffort) {
  using E = CompileEffort;
  return std::array{std::pair{E::kQuick, "quick"}, std::pair{E::kFull, "full"}};
}

}  // namespace esper::program
