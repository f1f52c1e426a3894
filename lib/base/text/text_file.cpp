#include "base/text/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/descriptor.h"

namespace esper::base {
namespace {

Failure<std::string> failure(const char* what, int error) {
  return base::failure(std::string(what) + ": " + std::strerror(error));
}

bool is_of_this_process(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// Whether there is something to read, or the end.
bool wait_for_input(int descriptor, const Clock& clock, Duration until) {
  pollfd wanted{descriptor, POLLIN, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now());
    if (left.count() <= 0) return false;
    const int ready = poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // read() reports what is wrong
  }
}

Expected<std::string> read_all(int descriptor, std::size_t max_bytes, Duration deadline) {
  const Clock clock;
  const Duration until = clock.now() + deadline;
  std::string text(max_bytes + 1, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(descriptor, text.data() + done, text.size() - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno == EAGAIN) {
      if (!wait_for_input(descriptor, clock, until)) {
        return base::failure("did not end within " + to_string(deadline) + "; write it to a file first");
      }
    } else if (errno != EINTR) {
      return failure("cannot be read", errno);
    }
  }
  text.resize(done);
  return text;
}

}  // namespace

Expected<std::string> read_text_file(const std::string& path, std::size_t max_bytes, Streams streams,
                                     Duration deadline) {
  if (path.find('\0') != std::string::npos) return base::failure("cannot be opened: there is a NUL byte in its name");
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.is_open()) return failure("cannot be opened", errno);
  struct stat facts{};
  if (fstat(file.number(), &facts) != 0) return failure("cannot be read", errno);
  if (S_ISDIR(facts.st_mode)) return base::failure("is a folder");
  const bool stream_allowed = streams == Streams::kOfThisProcess && is_of_this_process(path);
  if (!S_ISREG(facts.st_mode) && !stream_allowed) return base::failure("is not a regular file");
  return read_all(file.number(), max_bytes, deadline);
}

}  // namespace esper::base
