#pragma once
// What a command says, whatever the network looks like: is it well formed, which stage does it want, which blend.
// Any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kasmina/network.h"

namespace esper::kasmina {

// The one event of a command that is not carried out.
std::vector<LifecycleEvent> refused(const leyline::AdaptationCommand& command, const std::string& code,
                                    const std::string& reason);

// What is wrong with a command for any network; empty if nothing is. now_ns: the wall clock, 0 where it is not known.
std::vector<LifecycleEvent> refuse_form(const leyline::AdaptationCommand& command, std::uint64_t now_ns);

// The stage that an operation asks for; nothing for those that are no plain step forward.
std::optional<leyline::Stage> wanted_stage(leyline::SeedOperation operation);

// Takes the parameters of GERMINATE over the schedule. Returns what is wrong with them; empty if nothing is.
std::string take_schedule(const std::map<std::string, double>& parameters, AlphaSchedule& schedule);

}  // namespace esper::kasmina
