#pragma once
// What each of the network's policy logits stands for. Plain data. Any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "leyline/command.h"
#include "leyline/seed.h"
#include "tamiyo/graph/policy_outputs.h"

namespace esper::tamiyo {

// Positions in the policy head; part of the contract: trained weights depend on them. The positions after the last are
// free, and always masked.
enum class Action : std::uint8_t { kWait = 0, kGerminate = 1, kAdvance = 2, kCull = 3, kCancel = 4 };

struct ActionRow {
  Action action;
  std::string_view name;
  std::string_view meaning;
  std::string_view possible;  // when
};

inline constexpr std::array kActionTable{
    ActionRow{Action::kWait, "wait", "no command", "always"},
    ActionRow{Action::kGerminate, "germinate",
              "GERMINATE of a blueprint at an empty slot; with a form of training other than straight_through also "
              "START_TRAINING",
              "an empty slot has a blueprint that fits, fewer than growth.max_seeds seeds grow, the run allows "
              "germination, and it is not over"},
    ActionRow{Action::kAdvance, "advance", "the command to a growing seed's next stage",
              "a seed grows; after the last epoch, one in PROBATIONARY"},
    ActionRow{Action::kCull, "cull", "CULL: a growing seed is removed at once", "a seed grows, and the run goes on"},
    ActionRow{Action::kCancel, "cancel", "CANCEL: a growing seed is blended out, then removed",
              "a seed has begun to be blended in, and the run goes on"},
};
inline constexpr int kActions = kActionTable.size();
static_assert(kActions <= kPolicyActions);

constexpr const ActionRow& row_of(Action action) { return kActionTable[static_cast<std::size_t>(action)]; }

// The command that takes a seed on from this stage; nothing for a stage in which no seed grows.
std::optional<leyline::SeedOperation> next_operation(leyline::Stage stage);

}  // namespace esper::tamiyo
