#pragma once
// After a start of the daemon: which processes of the jobs that were active live, and how those ended that do not. A
// job whose folder cannot be used stays as it is, for whether its processes live cannot be known: it is tried again
// until it can, and keeps no other from being adopted. On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <set>

#include "jobs/queue/attempts.h"
#include "jobs/queue/delayed_call.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

class Adoption {
 public:
  struct Callbacks {
    std::function<void(JobId, const AttemptEnd&)> ended;  // called within begin() and go_on()
    std::function<void()> again;                          // from the loop, where go_on() is due
  };
  Adoption(boost::asio::io_context& loop, JobStore& store, Attempts& attempts, Callbacks callbacks);

  // Once, before anything else. Throws DatabaseError, as the next one.
  void begin();
  // Those that are left.
  void go_on();

 private:
  void adopt(const Job& job);

  JobStore& store_;
  Attempts& attempts_;
  const Callbacks callbacks_;
  std::set<JobId> left_;
  DelayedCall again_;
};

}  // namespace esper::jobs
