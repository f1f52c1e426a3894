#pragma once
// What the files of runs say of them, as far as that is cheap to know: sizes, and the beginnings of some formats. Each
// is read once, so that many runs that name the same files cost as much as one. One thread at a time; waits for the
// file system.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/quantity.h"

namespace esper::jobs {

class FileFacts {
 public:
  // Without a limit.
  FileFacts() = default;
  // Begins to read nothing more after `reading` from now on.
  explicit FileFacts(base::Duration reading, base::Clock clock = {})
      : clock_(std::move(clock)), deadline_(clock_.now() + reading) {}

  // Of a file, or of all files in a folder and near below it. This and the following: 0 where it cannot be read, and
  // where it was not read because the time is over.
  std::int64_t bytes_of(const std::string& path);
  // Different characters at the beginning of a text.
  std::int64_t characters_of(const std::string& path);
  // Commas in the first line.
  std::int64_t commas_of(const std::string& path);

  // How often something was not read because the time is over.
  std::size_t num_unread() const { return num_unread_; }

 private:
  using ByPath = std::map<std::string, std::int64_t>;
  std::int64_t known_or_read(ByPath& known, const std::string& path, std::int64_t (*read)(const std::string&));

  base::Clock clock_;
  base::Duration deadline_ = base::Duration::max();
  ByPath bytes_, characters_, commas_;
  std::size_t num_unread_ = 0;
};

}  // namespace esper::jobs
