#pragma once
// What becomes of seeds that are unfinished when the run ends, so that the network that is left holds no parameters
// that do nothing. One whose alpha is 0, or that is being blended out, is removed. Any other is compared, on the
// validation samples, with the network without it; it is kept for good where the run's evidence supports it, else
// removed:
//
//   growth.gates.evidence   kept if
//   none                    its gain in validation loss is shown at 95 %
//   ablation                its gain in accuracy points is at least gates.min_contribution_points
//   control                 its worth, as far as it was measured, is shown as gate G5 demands it, and it is not
//                           shown to raise the validation loss
//
// What is kept stays at the alpha with which the last epoch ran, so that the network which is left is that epoch's: at
// alpha 1, to which the network has not adapted, it may be far worse. A widening alone is kept at alpha 1, and judged
// there.
//
// Training thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "leyline/command.h"
#include "leyline/telemetry/telemetry.h"
#include "tolaria/evaluation/evaluation.h"

namespace esper::tolaria {

// Of each growing seed, by its id.
using SeedAlphas = std::map<std::string, double>;
SeedAlphas alphas_of(const kasmina::Network& network);

// Of the network with the seed as it would be kept against the one with it at alpha 0, paired over the validation
// samples; above 0: it helps. half_width: of the 95 % interval; empty below two samples, which show nothing.
struct SeedGain {
  double loss = 0;
  std::optional<double> loss_half_width = {};
  double points = 0;
  std::optional<double> points_half_width = {};
};

struct Fate {
  bool is_kept = false;
  std::string reason;
};
Fate fate_of(const leyline::SeedState& seed, const SeedGain& gain, const config::GateConfig& gates);

struct Settlement {
  bool is_complete = true;                           // false: a signal ended it
  std::vector<leyline::AdaptationCommand> commands;  // KEEP and CULL, one a seed
  std::vector<leyline::TelemetryEvent> events;
  std::optional<EpochFigures> validation;  // of the network once they are executed; empty: as it ran
};

bool has_unfinished_seeds(const kasmina::Network& network);
// That, or the end of the last epoch has made another network of the one that ran: a policy may remove a seed then.
bool needs_settling(const kasmina::Network& network, const SeedAlphas& ran);

// Seeds are judged in order of birth, each beside those that were kept before it. Changes nothing. progress: with the
// last epoch counted. ran: with which the last epoch ran; its end has advanced them since.
Settlement settle_unfinished(const Evaluation& evaluation, const RunProgress& progress, const SeedAlphas& ran);

// A CULL for each seed that is unfinished still, once those commands are executed.
std::vector<leyline::AdaptationCommand> culls_of_unsettled(const Evaluation& evaluation, const RunProgress& progress);

}  // namespace esper::tolaria
