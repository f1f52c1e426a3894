#pragma once
// Sockets that a server listens on. Any thread.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/expected.h"

namespace esper::http {

// A socket file of mode 0600 from its creation on. A file there that no process listens on any more is replaced; what
// is no socket, or is still listened on, stays and is an error. Two processes that do this for one path at the same
// time must keep each other out by other means. Non-blocking.
base::Expected<base::Descriptor> listen_on_path(const std::string& path);

// A socket file, as it was when it was created.
class SocketFile {
 public:
  static base::Expected<SocketFile> at(const std::string& path);
  // Unless another file is there by now.
  void remove() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct LoopbackSocket {
  base::Descriptor descriptor;
  std::uint16_t port = 0;
};
// On 127.0.0.1; port 0 takes a free one. Non-blocking.
base::Expected<LoopbackSocket> listen_on_loopback(std::uint16_t port);

}  // namespace esper::http
