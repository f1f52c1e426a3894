#pragma once
// One child process that is spoken to in lines of text, and everything it starts: they are one process group, and end
// together. One thread at a time, which also makes the object.

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/line_channel.h"

namespace esper::program {

struct WorkerCommand {
  std::string python;                              // an executable, as an absolute path
  std::string_view source;                         // the script, handed over as a file in memory
  std::vector<std::string> arguments;              // sys.argv[1:]
  std::map<std::string, std::string> environment;  // all of it: nothing is inherited
};

class WorkerProcess {
 public:
  // Throws std::system_error if it cannot be started. Standard error goes to /dev/null, for a child's complaints belong
  // in its answers.
  explicit WorkerProcess(const WorkerCommand& command);
  ~WorkerProcess() { kill(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // False if the process does not take it within five seconds.
  bool send(const std::string& line);
  using Read = base::LineChannel::Read;
  Read read_line(std::string& line, base::Duration timeout, int wake) {
    return channel_.read_line(line, timeout, wake);
  }

  // For a drill: stops the whole group for ever.
  void stop_where_armed();

  // Ends the whole group, at once, and waits for the child itself, five seconds at most.
  void kill();

  // How the process ended, once kill() has run: "signal 9", "exit status 1".
  const std::string& end() const { return end_; }

 private:
  WorkerProcess(const WorkerCommand& command, base::Descriptor theirs);

  pid_t pid_ = -1;
  base::LineChannel channel_;
  std::string end_;
};

}  // namespace esper::program
