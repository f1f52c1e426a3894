#pragma once
// What reading something that may be damaged gives: the value, or one sentence that says what is wrong with it, and
// whether that is proven of its contents.

#include <optional>
#include <string>
#include <utility>

namespace esper::storage {

enum class Fault {
  kDamaged,     // its bytes are not what was written: a wrong hash or length
  kUnreadable,  // nothing is known of its bytes: an I/O error, a permission, a missing file, a later format
};

template <class T>
struct Checked {
  std::optional<T> value;
  std::string problem;            // empty exactly if there is a value
  Fault fault = Fault::kDamaged;  // of what has a problem

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  T& operator*() { return *value; }
  const T* operator->() const { return &*value; }
  T* operator->() { return &*value; }
};

template <class T>
Checked<T> sound(T value) {
  return {std::move(value), {}, {}};
}

template <class T>
Checked<T> damaged(std::string problem) {
  return {std::nullopt, std::move(problem), Fault::kDamaged};
}

template <class T>
Checked<T> unreadable(std::string problem) {
  return {std::nullopt, std::move(problem), Fault::kUnreadable};
}

// The same problem, of a thing of another type.
template <class T, class U>
Checked<T> no_value(Checked<U> problem) {
  return {std::nullopt, std::move(problem.problem), problem.fault};
}

}  // namespace esper::storage
