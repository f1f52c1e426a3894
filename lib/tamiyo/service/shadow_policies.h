#pragma once
// The policies that are asked beside the one that decides (policy.kind ensemble), each on a thread of its own: their
// answers are logged and change nothing. Used by the training thread.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "leyline/decision_record.h"
#include "leyline/observation.h"
#include "tamiyo/service/consultation.h"

namespace esper::tamiyo {

// In a saved state: the shadows' own, as texts by kind.
inline constexpr char kShadowStates[] = "shadows";

// A shadow policy whose saved state could not be read, and why.
struct UnreadShadow {
  std::string kind, reason;
};

class ShadowPolicies {
 public:
  // As RunPolicy::add_shadow().
  void add(std::string kind, std::unique_ptr<Consultation> shadow) {
    shadows_.push_back({std::move(kind), std::move(shadow)});
  }
  bool empty() const { return shadows_.empty(); }

  // Asks each of them. Returns what finish() completes: a record of each, without its answer.
  std::vector<leyline::ShadowRecord> begin(const leyline::Observation& observation);
  // Waits for each until its deadline at most.
  void finish(std::vector<leyline::ShadowRecord>& records);

  // An object, as under "shadows" in a saved state.
  nlohmann::json states() const;
  // From there, or an empty object. Anything else is reported as unread for each. One without a state of its own, or
  // with one that it cannot read, starts from its initial state.
  void restore(const nlohmann::json& states);
  // Those that started from their initial state, since the last restore() could not read theirs.
  const std::vector<UnreadShadow>& unread() const { return unread_; }

 private:
  struct Shadow {
    std::string kind;
    std::unique_ptr<Consultation> consultation;
  };

  std::vector<Shadow> shadows_;
  std::vector<UnreadShadow> unread_;
};

}  // namespace esper::tamiyo
