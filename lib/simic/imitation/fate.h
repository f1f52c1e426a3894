#pragma once
// What is known of a decision afterwards: what became of its seed, and how far the run went on to get. Pure functions.

#include <cstddef>

#include "history/growth/decision_log.h"
#include "simic/imitation/lesson.h"
#include "tamiyo/graph/candidates.h"

namespace esper::simic {

// Sets risk and value of the target of the log's i-th decision. The risk of a germination is not known where its seed
// still grows when the log ends, was never germinated, as where another policy decided, came and went between two
// decisions so far apart that its slot is free again, or is gone where the run was forked.
void add_hindsight(const history::DecisionLog& log, std::size_t i, const tamiyo::Candidates& candidates,
                   Target& target);

}  // namespace esper::simic
