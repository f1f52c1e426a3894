#include "http/unix_address.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace esper::http {

base::Expected<UnixAddress> unix_address(const std::string& path) {
  const std::filesystem::path parts(path);
  UnixAddress result;
  result.name = parts.filename();
  if (result.name.empty() || result.name == "." || result.name == ".." || path.find('\0') != path.npos)
    return base::failure(fmt::format("\"{}\" does not name a socket", path));
  const std::string folder = parts.has_parent_path() ? parts.parent_path().string() : ".";
  result.folder = base::Descriptor(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!result.folder.is_open()) return base::failure(fmt::format("cannot open {}: {}", folder, std::strerror(errno)));
  const std::string used = path.size() < sizeof(result.address.sun_path)
                               ? path
                               : fmt::format("/proc/self/fd/{}/{}", result.folder.number(), result.name);
  if (used.size() >= sizeof(result.address.sun_path))
    return base::failure(fmt::format("the name \"{}\" is too long for a socket", result.name));
  result.address.sun_family = AF_UNIX;
  used.copy(result.address.sun_path, used.size());
  return result;
}

}  // namespace esper::http
