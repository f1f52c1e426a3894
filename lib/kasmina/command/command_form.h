#pragma once
// The parts of a command that do not depend on the network: is it well formed, which stage does it request, which
// blend. Any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "kasmina/seed/alpha.h"
#include "kasmina/slot/lifecycle_event.h"
#include "leyline/command.h"

namespace esper::kasmina {

// The event of a rejected command.
LifecycleEvent refusal_of(const leyline::AdaptationCommand& command, const std::string& code,
                          const std::string& reason);
// The same as all events of the command.
std::vector<LifecycleEvent> refused(const leyline::AdaptationCommand& command, const std::string& code,
                                    const std::string& reason);

// Why a command is invalid for any network; empty if it is valid. now_ns: the wall clock, 0 if unknown.
std::vector<LifecycleEvent> refuse_form(const leyline::AdaptationCommand& command, std::uint64_t now_ns);

// The stage that an operation requests; empty for operations that are not a plain step forward.
std::optional<leyline::Stage> wanted_stage(leyline::SeedOperation operation);

// The alpha at which KEEP leaves its fossil, or the reason why it is invalid.
base::Expected<double> kept_alpha(const std::map<std::string, double>& parameters);

// The default schedule with the parameters of GERMINATE applied, or the reason why one is invalid. Their names were
// checked by refuse_form().
base::Expected<AlphaSchedule> schedule_from(const std::map<std::string, double>& parameters, AlphaSchedule usual);

}  // namespace esper::kasmina
