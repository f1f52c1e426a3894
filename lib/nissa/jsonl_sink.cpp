#include "nissa/jsonl_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "leyline/error.h"
#include "nissa/json_line.h"

namespace esper::nissa {
namespace {

// Whether a regular file ends within a line.
bool ends_within_line(const std::filesystem::path& path, const struct stat& facts) {
  if (!S_ISREG(facts.st_mode) || facts.st_size == 0) return false;
  const Descriptor reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char last = '\n';
  return pread(reader.number(), &last, 1, facts.st_size - 1) == 1 && last != '\n';
}

}  // namespace

JsonlSink::JsonlSink(std::filesystem::path path, leyline::Duration write_deadline)
    : path_(std::move(path)), write_deadline_(write_deadline) {
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

int JsonlSink::open_file() {
  std::error_code ignored;  // open() says what is wrong
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  // Non-blocking matters for pipes only: neither open nor write may wait for a reader without end.
  Descriptor opened(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644));
  if (!opened.is_open()) return errno;
  struct stat facts {};
  if (fstat(opened.number(), &facts) != 0) return errno;
  file_ = std::move(opened);
  torn_ = ends_within_line(path_, facts);
  return 0;
}

bool JsonlSink::file_was_replaced() const {
  struct stat named {
  }, held{};
  if (stat(path_.c_str(), &named) != 0) return true;
  return fstat(file_.number(), &held) != 0 || named.st_ino != held.st_ino || named.st_dev != held.st_dev;
}

}  // namespace esper::nissa
