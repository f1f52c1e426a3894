#pragma once
// Random numbers of a decision: pure functions of the run's seed, the epoch and a name, without a state, so that a
// resumed run and a fork repeat them. Any thread.

#include <cstdint>
#include <string_view>

namespace esper::tamiyo {

class Draw {
 public:
  // temperature 0: no noise, so the highest score is chosen.
  Draw(std::uint64_t seed, std::uint32_t epoch, double temperature);

  // What is added to the score of what has this name before the highest is chosen: with Gumbel noise that draws from
  // the softmax of the scores over the temperature (Gumbel 1954). It does not depend on the order of the candidates,
  // nor on others that come and go.
  double noise(std::string_view name) const;

 private:
  std::uint64_t key_;
  double temperature_;
};

}  // namespace esper::tamiyo
