#pragma once
// What a teacher decided in a run, or would have decided in one that another policy decided (DAgger: Ross, Gordon and
// Bagnell 2011). Used by one thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "history/growth/decision_log.h"
#include "leyline/controller.h"

namespace esper::simic {

// The teacher with the settings of a process, by place in DecisionLog::processes; its state is the caller's.
using MakeTeacher = std::function<leyline::Controller&(std::size_t process)>;

// Parallel to the log's entries; nothing where the teacher has no answer. Where it decided itself, the logged ones.
// Else it is asked again, and knows the run's seeds as the policy that decided; a germination of its own that the run
// did not carry out it forgets.
std::vector<std::optional<leyline::Decision>> answers_of_teacher(const history::DecisionLog& log,
                                                                 const std::string& teacher, const MakeTeacher& make);

}  // namespace esper::simic
