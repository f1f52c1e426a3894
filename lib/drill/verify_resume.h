#pragma once
// Proves for one run file that a killed training continues exactly: trains it once without a stop, then with kills at
// random moments, and compares both. One thread.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "drill/aspect.h"
#include "drill/killed_training.h"

namespace esper::drill {

// Where the killed trainings begin.
enum class Begin {
  kAtStart,
  // With the first checkpoint of the reference, whose journal says which steps ran compiled: in lane auto a run that
  // starts again may choose otherwise, and a compiled step has other bits than eager's.
  kAtFirstCheckpoint,
};
constexpr auto names(Begin) {
  return std::array{std::pair{Begin::kAtStart, "start"}, std::pair{Begin::kAtFirstCheckpoint, "first_checkpoint"}};
}

struct KilledRun {
  KilledTraining training;
  std::vector<Aspect> aspects;
};

struct ResumeProof {
  Begin begin = Begin::kAtStart;
  int wanted = 0;          // kills
  double reference_s = 0;  // time of the training without a stop
  std::vector<KilledRun> runs{};
  int kills() const;  // that count; fewer than requested where the training ends too soon
  bool is_equal() const;
};

// How much slower the machine is taken to be than it was for the training without a stop: doubled after a run whose
// kills came before a checkpoint that counts, halved after one that ended, or made its last checkpoint, before a kill.
// One that was not killed at all says it itself: the training without a stop, which took `reference`, may have waited
// for the compiler, and later ones find their programs in the cache.
double slowdown_after(double slowdown, const KilledTraining& training, const std::string& last_checkpoint,
                      std::chrono::milliseconds reference);

using Say = std::function<void(const std::string&)>;  // what is going on now

// Trains in `folder`, which keeps all runs. Kills until `kills` have been made: a run may be done before its last one,
// and then another run takes over. Throws as train_with_kills(), and Error{kConfig} where nothing can be compared.
ResumeProof verify_resume(const TrainingPlan& plan, const std::string& folder, int kills, std::uint64_t seed,
                          const Say& say);

}  // namespace esper::drill
