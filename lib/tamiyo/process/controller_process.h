#pragma once
// One child process that decides. It has the channel as descriptor 3, its key as descriptor 4, no input, and what it
// prints goes to this process's standard error. Its process group ends with this object, and it itself with the thread
// that made the object. One thread at a time.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/text/line_channel.h"
#include "crypto/mac.h"

namespace esper::tamiyo {

inline constexpr int kChannelDescriptor = 3, kKeyDescriptor = 4;

class ControllerProcess {
 public:
  // Throws std::system_error where it cannot be started.
  ControllerProcess(const std::vector<std::string>& command, const crypto::MacKey& key);
  ~ControllerProcess() { end(); }
  ControllerProcess(const ControllerProcess&) = delete;
  ControllerProcess& operator=(const ControllerProcess&) = delete;

  base::LineChannel& channel() { return channel_; }
  pid_t process() const { return child_; }
  // Kills it with its group, at once when it ends by itself or else after `grace`, and waits for it, five seconds at
  // most. How it ended: "signal 9", "exit status 1".
  std::string end(base::Duration grace = {});

 private:
  ControllerProcess(const std::vector<std::string>& command, const crypto::MacKey& key, base::Descriptor theirs);

  base::LineChannel channel_;
  pid_t child_ = -1;
};

}  // namespace esper::tamiyo
