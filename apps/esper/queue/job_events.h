#pragma once
// Follows the changes of jobs that a daemon reports. A daemon that is replaced by another one is waited for. One
// thread.

#include <nlohmann/json.hpp>
#include <optional>

#include "base/quantity.h"
#include "esper/queue/daemon_client.h"
#include "http/event_reader.h"

namespace esper {

class JobEvents {
 public:
  // How long the next daemon may take to answer.
  static constexpr base::Duration kPatience = std::chrono::seconds(10);

  // Throws Error{kTryAgain} where no daemon answers. Ask for jobs after this: then no change is missed.
  explicit JobEvents(DaemonAddress address);

  struct Seen {
    enum class Kind {
      kNothing,  // in this time
      kJob,      // `job` changed, and is like this now
      kMissed,   // changes may have been missed: ask again
    };
    Kind kind = Kind::kNothing;
    nlohmann::json job{};
    // Whether the job may have changed.
    bool concerns(std::int64_t id) const;
  };
  // Throws Error{kTryAgain} where the daemon has ended and no other one came in time.
  Seen next(base::Duration timeout);

  // For poll(2): where it is readable, next() has something to do. next(0) first takes what is left.
  int descriptor() const { return events_->descriptor(); }

 private:
  void reopen();

  const DaemonAddress address_;
  std::optional<http::EventReader> events_;
};

}  // namespace esper
