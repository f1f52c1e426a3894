#pragma once
// What is printed on std::cerr while this lives, captured as in a process of Esper.

#include <iostream>
#include <sstream>
#include <string>

#include "base/text/cerr_capture.h"

namespace esper::test {

class PrintedErrors {
 public:
  PrintedErrors() : before_(std::cerr.rdbuf(text_.rdbuf())) { base::route_cerr(); }
  ~PrintedErrors() { std::cerr.rdbuf(before_); }
  PrintedErrors(const PrintedErrors&) = delete;
  PrintedErrors& operator=(const PrintedErrors&) = delete;

  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace esper::test
