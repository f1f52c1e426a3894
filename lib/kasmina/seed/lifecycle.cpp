#include "kasmina/seed/lifecycle.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "base/names.h"
#include "base/text/joined.h"
#include "leyline/topology.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

constexpr std::array kMoves = {
    std::pair{Stage::kUnknown, Stage::kDormant},     std::pair{Stage::kDormant, Stage::kGerminated},
    std::pair{Stage::kDormant, Stage::kTerminated},  std::pair{Stage::kGerminated, Stage::kTraining},
    std::pair{Stage::kGerminated, Stage::kCulled},   std::pair{Stage::kTraining, Stage::kBlending},
    std::pair{Stage::kTraining, Stage::kCulled},     std::pair{Stage::kBlending, Stage::kShadowing},
    std::pair{Stage::kBlending, Stage::kCulled},     std::pair{Stage::kShadowing, Stage::kProbationary},
    std::pair{Stage::kShadowing, Stage::kCulled},    std::pair{Stage::kProbationary, Stage::kFossilized},
    std::pair{Stage::kProbationary, Stage::kCulled}, std::pair{Stage::kFossilized, Stage::kTerminated},
    std::pair{Stage::kCulled, Stage::kEmbargoed},    std::pair{Stage::kEmbargoed, Stage::kResetting},
    std::pair{Stage::kResetting, Stage::kDormant},
};

}  // namespace

std::string IllegalMove::text() const {
  const auto begins_here = [this](const auto& move) { return move.first == from; };
  const auto allowed = base::joined(kMoves | std::views::filter(begins_here), " or ",
                                    [](const auto& move) { return base::name_of(move.second); });
  const auto start = base::name_of(from), end = base::name_of(to);
  if (allowed.empty()) return fmt::format("{} cannot become {}; nothing follows {}", start, end, start);
  return fmt::format("{} cannot become {}; from {} a slot may move to {}", start, end, start, allowed);
}

std::optional<IllegalMove> check_move(Stage from, Stage to) {
  if (std::find(kMoves.begin(), kMoves.end(), std::pair{from, to}) != kMoves.end()) return std::nullopt;
  return IllegalMove{from, to};
}

bool holds_seed(Stage stage) { return leyline::has_module(stage); }
bool is_growing(Stage stage) { return holds_seed(stage) && stage != Stage::kFossilized; }

}  // namespace esper::kasmina
