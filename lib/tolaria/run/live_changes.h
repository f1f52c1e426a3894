#pragma once
// Settings that change while a run trains (history/setting_change.h): requests are accepted between two epochs and hold
// from the next one on. The order makes them exact: first the list of accepted changes is on the disk, then training
// follows and records it, then the request is removed. A run that is resumed, from any checkpoint, follows that list.
// Training thread.

#include <functional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "history/setting_change.h"
#include "tolaria/run/outbox.h"
#include "tolaria/run/saver.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

// What of a run a change concerns.
struct ChangeableRun {
  RunFacts& facts;  // its configuration is changed
  RunProgress& progress;
  Outbox& outbox;
  Saver& saver;
};

class LiveChanges {
 public:
  // run: the run folder, whose lock is held. The run has its own configuration, which becomes the one that its last
  // step was trained with. Borrows the file system and what `of` refers to. Throws as accepted_changes().
  LiveChanges(base::FileSystem& files, std::string run, const ChangeableRun& of);
  LiveChanges(const LiveChanges&) = delete;
  LiveChanges& operator=(const LiveChanges&) = delete;

  // Before the run's next step. Between two epochs, accepts requests and makes the changes of the next epoch. A file
  // system that fails is reported, once; what was requested then waits.
  void begin_epoch();

 private:
  // Runs what reads or writes files; reports the first failure since the last success.
  bool succeeds(const std::function<void()>& work);
  std::vector<history::SettingRequest> take_requests(std::uint32_t epoch);
  void accept(const std::vector<history::SettingRequest>& requests, std::uint32_t epoch);
  void refuse(const history::SettingRequest& request, const std::string& reason);
  void remove_known(const std::vector<history::SettingRequest>& requests);
  bool is_known(const history::SettingRequest& request) const;
  void enter(std::uint32_t epoch);
  void report_changes(std::uint32_t epoch);

  base::FileSystem& files_;
  const std::string run_;
  const ChangeableRun of_;
  const config::RunConfig own_;
  history::SettingChanges accepted_;
  history::SettingChanges held_;  // that the configuration has
  bool failing_ = false;          // reported since the last success
  bool unsure_ = false;           // whether the disk has that list: publishing another one failed
};

}  // namespace esper::tolaria
