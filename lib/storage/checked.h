#pragma once
// What reading something that may be damaged gives: the value, or one sentence that says what is wrong with it.

#include <optional>
#include <string>
#include <utility>

namespace esper::storage {

template <class T>
struct Checked {
  std::optional<T> value;
  std::string problem;  // empty exactly if there is a value

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  T& operator*() { return *value; }
  const T* operator->() const { return &*value; }
  T* operator->() { return &*value; }
};

template <class T>
Checked<T> sound(T value) {
  return {std::move(value), {}};
}

template <class T>
Checked<T> damaged(std::string problem) {
  return {std::nullopt, std::move(problem)};
}

}  // namespace esper::storage
