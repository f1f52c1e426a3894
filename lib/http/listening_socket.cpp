#include "http/listening_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "http/unix_address.h"

namespace esper::http {
namespace {

constexpr int kBacklog = 128;
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

base::Failure<std::string> failed_call(const std::string& what) {
  return base::failure(fmt::format("{}: {}", what, std::strerror(errno)));
}

base::Descriptor new_socket(int family) {
  return base::Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Removes a socket file that nobody listens on.
base::Expected<void> remove_stale(const UnixAddress& address, const std::string& path) {
  struct stat facts{};
  if (fstatat(address.folder.number(), address.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return failed_call("cannot access " + path);
  }
  if (!S_ISSOCK(facts.st_mode))
    return base::failure(path + " exists and is not a socket; remove it or choose another path");
  const auto probe = new_socket(AF_UNIX);
  if (!probe.is_open()) return failed_call("cannot make a socket");
  if (connect(probe.number(), address.get(), sizeof(address.address)) == 0 || errno != ECONNREFUSED)
    return base::failure("another process listens on " + path);
  if (unlinkat(address.folder.number(), address.name.c_str(), 0) != 0 && errno != ENOENT)
    return failed_call("cannot remove " + path);
  return {};
}

// Nobody can connect before listen(2), so a mode that is set between bind(2) and that is there from the start.
base::Expected<void> restrict_to_owner(const UnixAddress& address, const std::string& path) {
  struct stat facts{};
  const int folder = address.folder.number();
  if (fstatat(folder, address.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return failed_call("cannot access " + path);
  if ((facts.st_mode & 07777) == kOwnerOnly) return {};
  if (fchmodat(folder, address.name.c_str(), kOwnerOnly, 0) != 0) return failed_call("cannot restrict " + path);
  return {};
}

}  // namespace

base::Expected<base::Descriptor> listen_on_path(const std::string& path) {
  const auto address = unix_address(path);
  if (!address) return base::failure(address.error());
  if (auto removed = remove_stale(*address, path); !removed) return base::failure(removed.error());
  auto listening = new_socket(AF_UNIX);
  if (!listening.is_open()) return failed_call("cannot make a socket");
  // Linux creates the file with the socket's own mode; umask(2) would change the mode of other threads' files too.
  if (fchmod(listening.number(), kOwnerOnly) != 0) return failed_call("cannot restrict " + path);
  if (bind(listening.number(), address->get(), sizeof(address->address)) != 0)
    return failed_call("cannot listen on " + path);
  if (auto restricted = restrict_to_owner(*address, path); !restricted) {
    unlinkat(address->folder.number(), address->name.c_str(), 0);
    return base::failure(restricted.error());
  }
  if (listen(listening.number(), kBacklog) != 0) return failed_call("cannot listen on " + path);
  return listening;
}

base::Expected<SocketFile> SocketFile::at(const std::string& path) {
  struct stat facts{};
  if (lstat(path.c_str(), &facts) != 0) return failed_call("cannot access " + path);
  SocketFile file;
  file.path_ = std::filesystem::absolute(path);
  file.device_ = facts.st_dev;
  file.inode_ = facts.st_ino;
  return file;
}

void SocketFile::remove() const {
  struct stat facts{};
  if (lstat(path_.c_str(), &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_) unlink(path_.c_str());
}

base::Expected<LoopbackSocket> listen_on_loopback(std::uint16_t port) {
  LoopbackSocket result{new_socket(AF_INET), 0};
  const int number = result.descriptor.number();
  if (number < 0) return failed_call("cannot make a socket");
  const int on = 1;
  setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(number, generic, size) != 0 || listen(number, kBacklog) != 0 || getsockname(number, generic, &size) != 0)
    return failed_call(fmt::format("cannot listen on 127.0.0.1:{}", port));
  result.port = ntohs(address.sin_port);
  return result;
}

}  // namespace esper::http
