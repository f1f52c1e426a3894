#include "tamiyo/process/controller_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/text/child_process.h"

namespace esper::tamiyo {

namespace {

constexpr base::Duration kLongestControllerEnd = std::chrono::seconds(5);

// A pipe's end from which the key can be read once, and then its end.
base::Descriptor readable_key(const crypto::MacKey& key) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  base::Descriptor read(ends[0]);
  const base::Descriptor write(ends[1]);
  // So few bytes never wait in an empty pipe.
  if (::write(write.number(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    throw std::system_error(errno, std::generic_category(), "cannot hand over a key");
  }
  return read;
}

}  // namespace

ControllerProcess::ControllerProcess(const std::vector<std::string>& command, const crypto::MacKey& key,
                                     base::Descriptor theirs)
    : channel_(theirs) {
  const base::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto secret = readable_key(key);
  child_ = base::start_child({.command = command,
                              .files = {{STDIN_FILENO, nothing.number()},
                                        {STDOUT_FILENO, STDERR_FILENO},
                                        {STDERR_FILENO, STDERR_FILENO},
                                        {kChannelDescriptor, theirs.number()},
                                        {kKeyDescriptor, secret.number()}}});
}

ControllerProcess::ControllerProcess(const std::vector<std::string>& command, const crypto::MacKey& key)
    : ControllerProcess(command, key, base::Descriptor()) {}

std::string ControllerProcess::end(base::Duration grace) {
  if (child_ < 0) return "";
  if (grace > base::Duration(0)) base::ends_within(child_, grace);
  const auto how = base::end_group(child_, kLongestControllerEnd);
  child_ = -1;
  channel_.close();
  return how;
}

}  // namespace esper::tamiyo
