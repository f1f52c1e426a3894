#pragma once
// What a command says, whatever the network looks like: is it well formed, which stage does it want, which blend.
// Any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "kasmina/network.h"

namespace esper::kasmina {

// The one event of a command that is not carried out.
std::vector<LifecycleEvent> refused(const leyline::AdaptationCommand& command, const std::string& code,
                                    const std::string& reason);

// What is wrong with a command for any network; empty if nothing is. now_ns: the wall clock, 0 where it is not known.
std::vector<LifecycleEvent> refuse_form(const leyline::AdaptationCommand& command, std::uint64_t now_ns);

// The stage that an operation asks for; nothing for those that are no plain step forward.
std::optional<leyline::Stage> wanted_stage(leyline::SeedOperation operation);

// The usual schedule with the parameters of GERMINATE in it, or what is wrong with one. Their names were checked by
// refuse_form().
base::Expected<AlphaSchedule> schedule_from(const std::map<std::string, double>& parameters, AlphaSchedule usual);

}  // namespace esper::kasmina
