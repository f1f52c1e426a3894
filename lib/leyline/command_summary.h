#pragma once
// Commands in short, for people, and to compare what two decisions would do. Any thread.

#include <string>
#include <vector>

#include "leyline/command.h"

namespace esper::leyline {

// "GERMINATE mlp at r0c0", "START_TRAINING at r0c0", "CULL seed-0001"; "no operation" without one.
std::string command_name(const AdaptationCommand& command);

// What the decision would do, in its order: names with parameters, "GERMINATE mlp at r0c0 (alpha_ticks=3)". Two
// decisions with equal lists do the same, whatever their reasons.
std::vector<std::string> command_names(const Decision& decision);

// The same on one line; "nothing" without commands.
std::string summary(const Decision& decision);

}  // namespace esper::leyline
