#pragma once
// The sweeps in the database. As JobStore: nothing is kept in memory, one thread, methods throw DatabaseError. Methods
// that write belong within the caller's Transaction where it has one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/database/database.h"
#include "jobs/job/sweep_record.h"

namespace esper::jobs {

class SweepStore {
 public:
  explicit SweepStore(Database& database) : database_(database) {}

  // With its texts, token and uid; its jobs are added one by one.
  SweepId insert(const SweepRecord& sweep, const SweepSubmission& submission);
  std::optional<SweepRecord> find(SweepId id);
  // That was submitted with this token, which is not empty.
  std::optional<SweepRecord> find_token(const std::string& token);
  bool has_run_dir(const std::string& run_dir);
  // The newest ones, at most `most`, in the order of their ids.
  std::vector<SweepRecord> list(std::int64_t most);
  // Of a sweep that exists.
  SweepState state_of(SweepId id);
  // Those for which something may have to be decided after a start of the daemon.
  std::vector<SweepId> undecided();

  struct Texts {
    std::string sweep, run_file;
  };
  Texts texts_of(SweepId id);  // throws missing_row() where it was lost

  void save_state(SweepId id, SweepState state, std::int64_t ended_ms);

 private:
  Database& database_;
};

}  // namespace esper::jobs
