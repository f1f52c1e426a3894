#include "nissa/jsonl_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "leyline/error.h"
#include "nissa/json_line.h"
#include "storage/beneath.h"

namespace esper::nissa {
namespace {

// Whether a file of that size ends within a line.
bool ends_within_line(const Descriptor& reader, off_t size) {
  char last = '\n';
  return pread(reader.number(), &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

JsonlSink::JsonlSink(std::filesystem::path path, Target target, leyline::Duration write_deadline)
    : path_(std::move(path)), target_(target), write_deadline_(write_deadline) {
  const int error = open_file();
  if (error == 0 || error == ENXIO) return;  // ENXIO: a pipe that nobody reads yet
  throw leyline::Error(leyline::ExitCode::kResources,
                       path_.string() + ": cannot write telemetry: " + std::generic_category().message(error) +
                           "; make the folder writable, or turn it off with telemetry.jsonl: false");
}

void JsonlSink::emit(const leyline::TelemetryPacket& packet) {
  if (!file_.is_open() || file_was_replaced()) {
    if (const int error = open_file(); error != 0) throw std::system_error(error, std::generic_category(), path_);
  }
  line_.clear();
  if (torn_) line_ += '\n';
  append_json_line(packet, line_);
  const auto result = write_all(file_.number(), line_, write_deadline_);
  if (result.written > 0) torn_ = line_[result.written - 1] != '\n';
  if (result.error != 0) throw std::system_error(result.error, std::generic_category(), path_);
}

// Non-blocking matters for pipes only: neither open nor write may wait for a reader without end.
Descriptor JsonlSink::opened(int flags) const {
  if (target_ == Target::kAnyFile) return Descriptor(open(path_.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644));
  const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const storage::Beneath beneath(folder.string(), storage::Owner::kAnyone);
  try {
    return beneath.open_file((folder / path_.filename()).string(), flags);
  } catch (const storage::UnsafePath&) {
    throw;
  } catch (const leyline::IoError& error) {
    errno = error.error_number();
    return Descriptor();
  }
}

int JsonlSink::open_file() {
  std::error_code ignored;  // opened() says what is wrong
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  Descriptor file = opened(O_WRONLY | O_CREAT | O_APPEND);
  if (!file.is_open()) return errno;
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0) return errno;
  file_ = std::move(file);
  torn_ = S_ISREG(facts.st_mode) && facts.st_size > 0 && ends_within_line(opened(O_RDONLY), facts.st_size);
  return 0;
}

bool JsonlSink::file_was_replaced() const {
  struct stat named {
  }, held{};
  if (lstat(path_.c_str(), &named) != 0) return true;
  return fstat(file_.number(), &held) != 0 || named.st_ino != held.st_ino || named.st_dev != held.st_dev;
}

}  // namespace esper::nissa
