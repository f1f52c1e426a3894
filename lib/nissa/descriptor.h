#pragma once
// A file descriptor that closes itself, and writing to one with a deadline.

#include <string_view>
#include <utility>

#include "leyline/quantity.h"

namespace esper::nissa {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

struct WriteResult {
  std::size_t written = 0;  // bytes
  int error = 0;            // errno; ETIMEDOUT when the reader was too slow; 0: all is written
};

// One write(2) where the kernel takes all at once. Goes on after EINTR and short writes; where the descriptor is
// non-blocking, waits for room at most until the deadline.
WriteResult write_all(int descriptor, std::string_view bytes, leyline::Duration deadline);

}  // namespace esper::nissa
