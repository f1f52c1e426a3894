#pragma once
// How far a job's training has come. Plain data, for clients.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/text/json_struct.h"
#include "jobs/job/job.h"

namespace esper::jobs {

inline constexpr std::size_t kMostEpochsShown = 500, kMostSeedsShown = 256;

// A seed that is in the network.
struct SeedProgress {
  std::string seed_id{}, slot{}, blueprint{};
  std::string stage{};            // "TRAINING"
  std::optional<double> alpha{};  // how far it is blended in, 0 to 1
  bool operator==(const SeedProgress&) const = default;
};
constexpr auto json_members(const SeedProgress*) {
  using base::json_member;
  using S = SeedProgress;
  return std::tuple{json_member("seed_id", &S::seed_id), json_member("slot", &S::slot),
                    json_member("blueprint", &S::blueprint), json_member("stage", &S::stage),
                    json_member("alpha", &S::alpha)};
}

// The lists of figures have one entry for each one of `epoch`; null where there was none, or none that is finite.
struct Progress {
  JobId job = 0;
  std::int64_t epochs = 0;          // trained
  std::int64_t planned_epochs = 0;  // with what `esper set` changed; 0: unknown
  std::string metric{};             // of validation that the training goes by: "accuracy"; empty: unknown
  std::string updated{};            // when the newest epoch was recorded, RFC 3339; empty: none was
  std::vector<std::int64_t> epoch{};
  std::vector<std::optional<double>> training_loss{};
  std::map<std::string, std::vector<std::optional<double>>> validation{};  // by metric, "loss" among them
  std::vector<SeedProgress> seeds{};                                       // by their ids
  bool operator==(const Progress&) const = default;
};
constexpr auto json_members(const Progress*) {
  using base::json_member;
  using P = Progress;
  return std::tuple{json_member("job", &P::job),
                    json_member("epochs", &P::epochs),
                    json_member("planned_epochs", &P::planned_epochs),
                    json_member("metric", &P::metric),
                    json_member("updated", &P::updated),
                    json_member("epoch", &P::epoch),
                    json_member("training_loss", &P::training_loss),
                    json_member("validation", &P::validation),
                    json_member("seeds", &P::seeds)};
}

}  // namespace esper::jobs
