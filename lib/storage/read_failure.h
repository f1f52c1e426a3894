#pragma once
// Why something that may be damaged was not read: one sentence that says what is wrong with it, and whether that is
// proven of its contents.

#include <string>
#include <utility>

#include "base/expected.h"

namespace esper::storage {

enum class Fault {
  kDamaged,     // its bytes are not what was written: a wrong hash or length, or what nobody writes
  kUnreadable,  // nothing is known of its bytes: an I/O error, a permission, a missing file, a later format
};

struct ReadFailure {
  std::string problem;
  Fault fault = Fault::kDamaged;
};

inline base::Failure<ReadFailure> damaged(std::string problem) { return {{std::move(problem), Fault::kDamaged}}; }
inline base::Failure<ReadFailure> unreadable(std::string problem) { return {{std::move(problem), Fault::kUnreadable}}; }

}  // namespace esper::storage
