#include "kasmina/lifecycle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/names.h"
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
  const auto name = [](Stage stage) { return std::string(base::name_of(stage)); };
  std::string allowed;
  for (const auto& [start, end] : kMoves) {
    if (start == from) allowed += (allowed.empty() ? "" : " or ") + name(end);
  }
  const auto text = name(from) + " cannot become " + name(to);
  if (allowed.empty()) return text + "; nothing follows " + name(from);
  return text + "; from " + name(from) + " a slot may move to " + allowed;
}

std::optional<IllegalMove> check_move(Stage from, Stage to) {
  if (std::find(kMoves.begin(), kMoves.end(), std::pair{from, to}) != kMoves.end()) return std::nullopt;
  return IllegalMove{from, to};
}

bool holds_seed(Stage stage) { return leyline::has_module(stage); }
bool is_growing(Stage stage) { return holds_seed(stage) && stage != Stage::kFossilized; }

}  // namespace esper::kasmina
