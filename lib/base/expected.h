#pragma once
// A value, or the reason why there is none: for failures that are expected. Has the interface of C++23's
// std::expected<T, std::string>, so that it can become an alias of it.
//
//   base::Expected<Program> load(const std::string& text);   // return base::failure("no program: " + why);
//   if (auto program = load(text)) use(*program); else report(program.error());

#include <string>
#include <utility>
#include <variant>

namespace esper::base {

struct Failure {
  std::string reason;  // without a full stop
};
inline Failure failure(std::string reason) { return {std::move(reason)}; }

template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Expected(Failure failure)                                                  // NOLINT(google-explicit-constructor)
      : content_(std::in_place_index<1>, std::move(failure)) {}

  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  // Throw std::bad_variant_access where there is none.
  T& value() & { return std::get<0>(content_); }
  const T& value() const& { return std::get<0>(content_); }
  T&& value() && { return std::get<0>(std::move(content_)); }
  const std::string& error() const { return std::get<1>(content_).reason; }
  // Undefined where there is none.
  T& operator*() & { return *std::get_if<0>(&content_); }
  const T& operator*() const& { return *std::get_if<0>(&content_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&content_)); }
  T* operator->() { return std::get_if<0>(&content_); }
  const T* operator->() const { return std::get_if<0>(&content_); }

 private:
  std::variant<T, Failure> content_;
};

// Done, or the reason why not.
template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Failure failure)  // NOLINT(google-explicit-constructor)
      : done_(false), reason_(std::move(failure.reason)) {}
  bool has_value() const { return done_; }
  explicit operator bool() const { return done_; }
  const std::string& error() const { return reason_; }

 private:
  bool done_ = true;
  std::string reason_;
};

}  // namespace esper::base
