#pragma once
// Takes each growing seed through its stages by the rules of stage_rules.h, whatever policy germinated it: watches what
// it achieves, advances it, prunes it, and repeats a rejected step after 1, 2, 4, ... epochs; one that was held back
// (Observation::held_back) was not tried, and is repeated at once. When, where and what to germinate is the policy's.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leyline/command.h"
#include "leyline/observation.h"
#include "tamiyo/care_state.h"
#include "tamiyo/stage_rules.h"

namespace esper::tamiyo {

void append_reason(leyline::Decision& decision, const std::string& sentence);

// What became of the seeds.
struct CareReport {
  std::uint32_t previous_epoch = 0;  // of the usable observation before this one; 0: none
  std::uint32_t epochs = 1;          // since that one; 1 without one
  int growing = 0;                   // at the epoch's end
  int pruned = 0;                    // of these, by this decision
  std::vector<Germination> lost;     // pruned, removed without a command, or asked for and not germinated
  bool has_fossilised = false;       // a seed has become part of the host
};

class SeedCare {
 public:
  // issuer: of the commands. lost_note: ends the sentence about a seed that the policy loses without a command.
  SeedCare(Rules rules, std::string issuer, std::string lost_note = {});

  // Adds the commands for the growing seeds, with reasons. Nothing where the observation is unusable: the decision then
  // says so and is complete. Command ids are "<run>-e<epoch>-<n>".
  std::optional<CareReport> update(const leyline::Observation& observation, leyline::Decision& decision);
  // Adds the command and its reason. Whether the seed came up is reported by the next update().
  void germinate(const leyline::Observation& observation, const Germination& what, const std::string& reason,
                 leyline::Decision& decision);

  // For commands that are not from here: a seed is germinated, or removed, by this decision.
  void expect(const Germination& what) { state_.asked.push_back(what); }
  void release(const std::string& seed_id);

  const CareState& state() const { return state_; }
  void restore(CareState state) { state_ = std::move(state); }

 private:
  // One epoch's update.
  struct Epoch {
    const leyline::Observation& observation;
    leyline::Decision& decision;
    CareReport& report;
  };

  void take_back(const leyline::Observation& observation, leyline::Decision& decision);
  void check_germinations(const Epoch& epoch);
  void watch_seeds(const Epoch& epoch);
  void watch_seed(const leyline::SeedState& seed, const Epoch& epoch);
  void update_seed(const leyline::SeedState& seed, const Epoch& epoch);
  void command(leyline::AdaptationCommand command, const std::string& reason, const leyline::Observation& observation,
               leyline::Decision& decision) const;

  Rules rules_;
  std::string issuer_, lost_note_;
  CareState state_;
};

}  // namespace esper::tamiyo
