#pragma once
// The address of a unix-domain socket at a path of any length. An address holds 107 characters; a longer path is
// reached through a descriptor of its folder, as /proc/self/fd/N/name. Any thread.

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/descriptor.h"
#include "base/expected.h"

namespace esper::http {

struct UnixAddress {
  sockaddr_un address{};
  base::Descriptor folder;  // must stay open as long as the address is used
  std::string name;         // of the socket in its folder

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Fails where the folder cannot be opened, or the name alone is too long.
base::Expected<UnixAddress> unix_address(const std::string& path);

}  // namespace esper::http
