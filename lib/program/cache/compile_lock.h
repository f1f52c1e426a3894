#pragma once
// Who compiles a program: of all processes that share a cache one does, and the others wait for its package. Any
// thread.
//
//   FOLDER/compiling/KEY    byte i is locked (an open file description lock) by the process that compiles with
//   CompileRank i

#include <optional>
#include <string>

#include "base/descriptor.h"

namespace esper::program {

// A process that compiles with a lower rank waits for one of the same or a higher rank, and never the other way round:
// a run that waits for a program does not wait for one made at the lowest priority, or in quick effort.
enum class CompileRank { kQuickBackground, kFullBackground, kQuick, kFull };

class CompileLock {
 public:
  // Nothing: another thread or process compiles the program with this rank or a higher one. Never
  // waits. `folder` is the cache's and is there. Throws IoError; it is storage::UnsafePath where the lock's file or its
  // folder is not this user's alone.
  static std::optional<CompileLock> try_take(const std::string& folder, const std::string& key, CompileRank rank);

  // The lock ends with the object, and with the process however that ends.
  ~CompileLock();
  CompileLock(CompileLock&&) noexcept = default;
  CompileLock& operator=(CompileLock&&) = delete;

 private:
  CompileLock(base::Descriptor folder, base::Descriptor file, std::string key)
      : folder_(std::move(folder)), file_(std::move(file)), key_(std::move(key)) {}

  base::Descriptor folder_, file_;
  std::string key_;
};

}  // namespace esper::program
