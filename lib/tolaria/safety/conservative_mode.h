#pragma once
// The mode of a run whose policy does not decide: a level of emergency, reported when it begins and when it ends.
// Training thread.

#include <cstdint>

#include "tolaria/safety/emergency.h"

namespace esper::tolaria {

class ConservativeMode {
 public:
  // Borrows both.
  ConservativeMode(Outbox& outbox, Emergency& emergency) : outbox_(outbox), emergency_(emergency) {}

  enum class Decision { kMade, kMissing };  // of the policy
  // After an epoch. streak: failed epochs in a row.
  void follow(Decision decision, std::int64_t streak);

 private:
  Outbox& outbox_;
  Emergency& emergency_;
  bool is_on_ = false;
};

}  // namespace esper::tolaria
