#pragma once
// What `esper jobs --watch` prints where there is no terminal: a line for each change of a job. One thread.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "esper/queue/job_list.h"

namespace esper {

class ChangeLines {
 public:
  // `options` must outlive this object.
  explicit ChangeLines(const JobListOptions& options) : options_(options) {}

  // The line of a job as it is now, with its end: JSON where the options ask for it. Empty where it is none of those
  // that are watched, and where nothing changed that is worth a line.
  std::string line_of(const nlohmann::json& job);
  // All that are watched are these, as far as the list's limit goes. Changes may have been missed before.
  void forget_others(const nlohmann::json& jobs);
  std::size_t known() const { return known_.size(); }

 private:
  struct Known {
    std::string outline;
    bool has_ended = false;
  };
  bool is_wanted(const nlohmann::json& job) const;
  void forget_oldest();

  const JobListOptions& options_;
  std::map<std::int64_t, Known> known_;  // by job: those that are watched, of those that have ended the newest
};

}  // namespace esper
