#pragma once
// Requests about the progress of jobs, and the stream of events. On the loop's thread.

#include <functional>

#include "jobs/api/router.h"
#include "jobs/progress/progress_reader.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

class ProgressRoutes {
 public:
  // stream_begins: before a client begins to listen to events.
  ProgressRoutes(JobStore& store, ProgressReader& reader, std::function<void()> stream_begins)
      : store_(store), reader_(reader), stream_begins_(std::move(stream_begins)) {}

  // The router must not outlive this object.
  void add_to(Router& router);

 private:
  http::Response progress(JobId id);

  JobStore& store_;
  ProgressReader& reader_;
  const std::function<void()> stream_begins_;
};

}  // namespace esper::jobs
