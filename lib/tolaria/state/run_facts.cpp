#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

double RunFacts::learning_rate(std::int64_t step) const {
  const auto& training = config.training;
  return step::learning_rate(training.optimizer.lr, training.schedule, length(), step);
}

}  // namespace esper::tolaria
