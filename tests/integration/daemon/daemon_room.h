#pragma once
// A daemon with a folder of its own, and its commands.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "integration/run/run_room.h"

namespace esper::test {

class DaemonRoom {
 public:
  // Words for `esper daemon`, each time that one is started.
  explicit DaemonRoom(Words options = {});
  // Kills the daemon and all processes of its jobs.
  ~DaemonRoom();

  RunRoom room;
  std::string state_dir() const { return (room.path / "state").string(); }
  // Starts a daemon where none runs, and waits until it answers.
  void start();
  // Ends the daemon with the command for it, and waits for its end.
  void stop() const;
  // Of the daemon that has the folder; 0: none.
  pid_t daemon() const;
  // A command with --state-dir and --json.
  Finished ask(const Words& words) const;
  // The same for one that must succeed: its JSON.
  nlohmann::json tell(const Words& words) const;
  nlohmann::json job(int id) const { return tell({"job", "show", std::to_string(id)}); }
  // Polls, for four minutes at most, until the job has this state.
  bool wait_for_state(int id, const std::string& state) const;

  struct Processes {
    pid_t shim = 0, trainer = 0;  // 0: none lives
  };
  Processes processes_of(int id) const;
  // Whether a process of the job lives.
  bool is_alive(int id) const;

 private:
  Words options_;
};

}  // namespace esper::test
