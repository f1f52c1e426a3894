#pragma once
// A seed's lifecycle as plain data. Stage numbers are part of the contract and never change.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "leyline/seed_worth.h"

namespace esper::leyline {

enum class Stage : std::uint8_t {
  kUnknown = 0,
  kDormant = 1,
  kGerminated = 2,
  kTraining = 3,
  kBlending = 4,
  kShadowing = 5,
  kProbationary = 6,
  kFossilized = 7,
  kCulled = 8,
  kEmbargoed = 9,
  kResetting = 10,
  kTerminated = 11,
};
constexpr auto names(Stage) {
  using S = Stage;
  return std::array{std::pair{S::kUnknown, "UNKNOWN"},
                    std::pair{S::kDormant, "DORMANT"},
                    std::pair{S::kGerminated, "GERMINATED"},
                    std::pair{S::kTraining, "TRAINING"},
                    std::pair{S::kBlending, "BLENDING"},
                    std::pair{S::kShadowing, "SHADOWING"},
                    std::pair{S::kProbationary, "PROBATIONARY"},
                    std::pair{S::kFossilized, "FOSSILIZED"},
                    std::pair{S::kCulled, "CULLED"},
                    std::pair{S::kEmbargoed, "EMBARGOED"},
                    std::pair{S::kResetting, "RESETTING"},
                    std::pair{S::kTerminated, "TERMINATED"}};
}

// What was measured of a seed; points of validation accuracy. Empty: not measured in the last epoch.
struct SeedFigures {
  double alpha = 0, alpha_target = 1;
  int alpha_ticks = 0;      // done on the way to where alpha is going
  std::int64_t params = 0;  // numbers that it learns
  std::optional<double> gradient_ratio = {};
  std::optional<double> improvement_points = {}, shadow_points = {};
  // half_width: of the 95 % interval, the value plus and minus it.
  std::optional<double> contribution_points = {}, contribution_stderr_points = {}, contribution_half_width_points = {};
  std::optional<double> shapley_points = {}, shapley_stderr_points = {}, shapley_half_width_points = {};
  SeedWorth worth = {};  // as last measured
};

// A seed as others see it at the end of an epoch.
struct SeedState {
  std::string seed_id;    // "seed-0001", never reused in a run
  std::string slot;       // "r0c1"
  std::string blueprint;  // "conv_light"
  Stage stage = Stage::kUnknown;
  float gradient_norm = 0;         // mean over the epoch's steps
  float learning_rate = 0;         // that its parameters had at the epoch's last step
  std::uint32_t layer_depth = 0;   // position of its slot along the host, 0 is nearest the input
  std::uint32_t age_epochs = 0;    // since germination
  std::uint32_t stage_epochs = 0;  // since it entered its stage
  SeedFigures figures;
};

}  // namespace esper::leyline
