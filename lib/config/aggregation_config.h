#pragma once
#include "config/entries/entry.h"
#include "config/entries/slot_classes.h"
#include "config/field.h"

namespace esper::config {

// Which seed answers for how much of a microbatch's gradient on the host. Formulas: step/attribution.h.
enum class Attribution { kUniform, kApprox, kProbe, kDataloader };
constexpr auto names(Attribution) {
  using A = Attribution;
  return std::array{std::pair{A::kUniform, "uniform"}, std::pair{A::kApprox, "approx"}, std::pair{A::kProbe, "probe"},
                    std::pair{A::kDataloader, "dataloader"}};
}

enum class GradientSurgery { kNone, kPcgrad };
constexpr auto names(GradientSurgery) {
  using S = GradientSurgery;
  return std::array{std::pair{S::kNone, "none"}, std::pair{S::kPcgrad, "pcgrad"}};
}

// How the gradients of several seeds come together on the host's parameters.
struct AggregationConfig {
  Attribution attribution = Attribution::kUniform;
  std::vector<Entry<SlotClasses>> classes;
  GradientSurgery surgery = GradientSurgery::kPcgrad;
  double conflict_warn = 0.75;
  double seed_conflict_warn = 0.5;
  double share_jump_warn = 0.3;
  bool seed_figures = true;
  int layers_shown = 0;

  template <class = void>
  static constexpr auto fields() {
    using C = AggregationConfig;
    return std::tuple{
        field("attribution", &C::attribution,
              "how a microbatch is attributed to seeds: equally (uniform), by the gradient's projection on each seed's "
              "change (approx), by the loss increase without the seed (probe), or by its classes (dataloader)"),
        field("classes", &C::classes,
              "for dataloader: the classes attributed to a slot's seed, like r0c1=0,1,2; all other classes are "
              "attributed equally"),
        field("surgery", &C::surgery,
              "pcgrad projects out conflicting gradient components; needs two or more seeds, two or more microbatches "
              "and an attribution other than uniform"),
        field("conflict_warn", &C::conflict_warn,
              "fraction of conflicting pairs in an epoch above which a warning is reported", between(0, 1)),
        field("seed_conflict_warn", &C::seed_conflict_warn,
              "the same fraction, among the pairs of one seed with the others", between(0, 1)),
        field("share_jump_warn", &C::share_jump_warn,
              "change of a seed's share of the gradient from epoch to epoch above which a warning is reported",
              between(0, 1)),
        field("seed_figures", &C::seed_figures, "measure weight, conflicts and isolation of each growing seed"),
        field("layers_shown", &C::layers_shown,
              "how many of each seed's layers report their gradient norm, largest first", between(0, 1000))};
  }
};

}  // namespace esper::config
