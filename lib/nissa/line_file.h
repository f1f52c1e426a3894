#pragma once
// A file to which lines are appended, each with one write(2) on an O_APPEND descriptor. One thread at a time.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/quantity.h"

namespace esper::nissa {

// A line that an earlier process did not finish is ended first, so that no later line is lost with it. The same holds
// for a line that could be written only in part (full disk, slow pipe).
class LineFile {
 public:
  enum class Target {
    kRegularFile,  // storage/beneath.h says what else is refused: links, pipes, files with several names
    kAnyFile,      // also a device, or a pipe, whose reader may be absent, or take longer than the deadline
  };

  // Opens nothing.
  LineFile(std::filesystem::path path, Target target, base::Duration write_deadline)
      : path_(std::move(path)), target_(target), write_deadline_(write_deadline) {}

  // Opened, or made, with its folder; again where it was open. Returns an errno: 0, or why it is as it was. Throws
  // storage::UnsafePath if it is refused.
  int open();
  // open() where it is not open, or where its name is another file's by now. Throws std::system_error where that fails.
  void ensure_open();
  // `line` ends with a newline, and may get one in front. Throws std::system_error if it could not be written whole.
  void write(std::string& line);

  const std::filesystem::path& path() const { return path_; }
  base::Duration write_deadline() const { return write_deadline_; }
  bool is_regular() const { return is_regular_; }  // else it is a pipe or a device
  std::uint64_t bytes() const { return bytes_; }
  // With one more line of so many.
  std::uint64_t bytes_with(std::size_t line_bytes) const { return bytes_ + is_torn_ + line_bytes; }

 private:
  base::Descriptor opened(int flags) const;
  bool was_replaced() const;

  std::filesystem::path path_;
  Target target_;
  base::Duration write_deadline_;
  base::Descriptor file_;
  std::uint64_t bytes_ = 0;
  bool is_regular_ = false;
  bool is_torn_ = false;  // it ends within a line
};

}  // namespace esper::nissa
