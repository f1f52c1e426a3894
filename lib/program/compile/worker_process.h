#pragma once
// One child process that is spoken to in lines of text, and everything it starts: they are one process group, and end
// together. One thread at a time, which also makes the object.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leyline/quantity.h"

namespace esper::program {

// A descriptor that is closed with its scope.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return number_; }
  int release();
  void reset();

 private:
  int number_;
};

struct WorkerCommand {
  std::string python;                              // an executable
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

  // False if the process does not take it.
  bool send(const std::string& line);

  enum class Read { kLine, kTimeout, kEnd, kWoken };
  // The next line, without its end. kEnd: the process closed its side; kWoken: `wake` (a descriptor) can be read.
  Read read_line(std::string& line, leyline::Duration timeout, int wake);

  // Ends the whole group, at once, and waits for the child itself.
  void kill();

  // How the process ended, in words, once kill() has run: "signal 9", "exit status 1".
  const std::string& end() const { return end_; }
  pid_t pid() const { return pid_; }

 private:
  bool take_line(std::string& line);

  pid_t pid_ = -1;
  Descriptor to_child_, from_child_;
  std::string received_;
  std::string end_;
};

}  // namespace esper::program
