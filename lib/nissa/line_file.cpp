#include "nissa/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text/timed_write.h"
#include "nissa/telemetry_files.h"

namespace esper::nissa {

using base::Descriptor;

namespace {

// Whether a file of that size ends within a line.
bool ends_within_line(const Descriptor& reader, off_t size) {
  char last = '\n';
  return pread(reader.number(), &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

int LineFile::open() {
  std::error_code ignored;  // opened() says what is wrong
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  Descriptor file = opened(O_WRONLY | O_CREAT | O_APPEND);
  if (!file.is_open()) return errno;
  struct stat facts{};
  if (fstat(file.number(), &facts) != 0) return errno;
  file_ = std::move(file);
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
  is_regular_ = S_ISREG(facts.st_mode);
  is_torn_ = is_regular_ && facts.st_size > 0 && ends_within_line(opened(O_RDONLY), facts.st_size);
  return 0;
}

void LineFile::ensure_open() {
  if (file_.is_open() && !was_replaced()) return;
  if (const int error = open(); error != 0) throw std::system_error(error, std::generic_category(), path_);
}

void LineFile::write(std::string& line) {
  if (is_torn_) line.insert(line.begin(), '\n');
  const auto result = base::write_all(file_.number(), line, write_deadline_);
  bytes_ += result.written;
  if (result.written > 0) is_torn_ = line[result.written - 1] != '\n';
  if (result.error != 0) throw std::system_error(result.error, std::generic_category(), path_);
}

// Non-blocking matters for pipes only: neither open nor write may wait for a reader without end.
Descriptor LineFile::opened(int flags) const {
  if (target_ == Target::kAnyFile) return Descriptor(::open(path_.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644));
  return open_telemetry(path_, flags);
}

bool LineFile::was_replaced() const {
  struct stat named{}, held{};
  if (lstat(path_.c_str(), &named) != 0) return true;
  return fstat(file_.number(), &held) != 0 || named.st_ino != held.st_ino || named.st_dev != held.st_dev;
}

}  // namespace esper::nissa
