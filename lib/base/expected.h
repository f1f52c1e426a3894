#pragma once
// A value, or the reason why there is none: for failures that are expected. Has the interface of C++23's
// std::expected<T, E>, so that it can become an alias of it.
//
//   base::Expected<Program> load(const std::string& text);   // return base::failure("no program: " + why);
//   if (auto program = load(text)) use(*program); else report(program.error());
//
// The reason is a sentence without a full stop, or a type of its own if callers must distinguish failures.

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace esper::base {

template <class E>
struct Failure {
  E error;
};

inline Failure<std::string> failure(std::string reason) { return {std::move(reason)}; }

template <class E>
  requires(!std::convertible_to<E, std::string>)
Failure<E> failure(E error) {
  return {std::move(error)};
}

template <class T, class E = std::string>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Expected(Failure<E> failure)                                               // NOLINT(google-explicit-constructor)
      : content_(std::in_place_index<1>, std::move(failure.error)) {}

  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  // Throw std::bad_variant_access where there is none.
  T& value() & { return std::get<0>(content_); }
  const T& value() const& { return std::get<0>(content_); }
  T&& value() && { return std::get<0>(std::move(content_)); }
  const E& error() const { return std::get<1>(content_); }
  E error_or(E other) const { return has_value() ? std::move(other) : error(); }
  // Undefined where there is none.
  T& operator*() & { return *std::get_if<0>(&content_); }
  const T& operator*() const& { return *std::get_if<0>(&content_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&content_)); }
  T* operator->() { return std::get_if<0>(&content_); }
  const T* operator->() const { return std::get_if<0>(&content_); }

 private:
  std::variant<T, E> content_;
};

// Done, or the reason why not.
template <class E>
class [[nodiscard]] Expected<void, E> {
 public:
  Expected() = default;
  Expected(Failure<E> failure) : error_(std::move(failure.error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  const E& error() const { return error_.value(); }
  E error_or(E other) const { return error_.value_or(std::move(other)); }

 private:
  std::optional<E> error_;
};

}  // namespace esper::base
