#pragma once
#include "config/field.h"

namespace esper::config {

// Whether a copied block starts as the identity or as it is. Definition: leyline::Birth.
enum class DeepenForm { kIdentity, kPlain };
constexpr auto names(DeepenForm) {
  using F = DeepenForm;
  return std::array{std::pair{F::kIdentity, "identity"}, std::pair{F::kPlain, "plain"}};
}

// For kind deepen: when, and by how much.
struct DeepenConfig {
  std::string at = "25%";
  int copies = 1;
  DeepenForm form = DeepenForm::kIdentity;

  template <class = void>
  static constexpr auto fields() {
    using C = DeepenConfig;
    return std::tuple{
        field("at", &C::at, "after which epoch, or after which percentage of the run's epochs; like 10 or 25%"),
        field("copies", &C::copies, "copies of each block, one after another", between(1, 64)),
        field("form", &C::form,
              "identity: the copies' outputs start at zero, so that the network's output stays the same; plain: the "
              "blocks are copied as they are")};
  }
};

}  // namespace esper::config
