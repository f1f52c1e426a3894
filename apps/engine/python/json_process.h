#pragma once
// A program beside this one that answers questions: one line of JSON each way, every answer within its deadline.

#include <sys/types.h>

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/text/line_channel.h"

namespace esper::engine {

class JsonProcess {
 public:
  // Starts `command` in its own process group, as engine/python_start.h says but for -I, so all paths in it are
  // absolute; its standard error goes to the file `log`. Throws
  // std::runtime_error if it cannot be started.
  JsonProcess(const std::vector<std::string>& command, std::string log);
  // Kills the whole group and waits for its end, five seconds at most.
  ~JsonProcess() { end(); }
  JsonProcess(const JsonProcess&) = delete;
  JsonProcess& operator=(const JsonProcess&) = delete;

  // Throws std::runtime_error with the reason (no answer in time, ended, no JSON) with the last
  // line of its log; the process is killed then, and every later question fails alike.
  nlohmann::json ask(const nlohmann::json& question, std::chrono::milliseconds deadline);

 private:
  void end();
  [[noreturn]] void give_up(const std::string& why);
  JsonProcess(const std::vector<std::string>& command, std::string log, base::Descriptor theirs);

  pid_t child_ = -1;
  base::LineChannel channel_;
  std::string log_, failure_;
};

}  // namespace esper::engine
