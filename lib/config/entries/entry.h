#pragma once
// An item of a list in a run file that is written in a form of its own, like r0c1=cosine,8,0.7, and what it says: read
// once, where it is set. Any thread.

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"

namespace esper::config {

// T::parse() gives a value, or which part of the text is wrong and what it may be.
template <class T>
concept Parsable = requires(std::string_view text) {
  { T::parse(text) } -> std::same_as<base::Expected<T>>;
};

template <Parsable T>
class Entry {
 public:
  Entry(std::string text)  // NOLINT(google-explicit-constructor): a config's lists are written as texts
      : text_(std::move(text)), value_(T::parse(text_)) {}
  Entry(const char* text) : Entry(std::string(text)) {}  // NOLINT(google-explicit-constructor)

  const std::string& text() const { return text_; }
  explicit operator bool() const { return value_.has_value(); }
  const std::string& problem() const { return value_.error(); }
  // Undefined where there is a problem: validate() reports it.
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.operator->(); }

 private:
  std::string text_;
  base::Expected<T> value_;
};

template <class List>
inline constexpr bool kIsEntryList = false;
template <class T>
inline constexpr bool kIsEntryList<std::vector<Entry<T>>> = true;

}  // namespace esper::config
