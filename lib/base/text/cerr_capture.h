#pragma once
// What a library prints on std::cerr within a call, kept instead of printed: for one that prints why a call failed, and
// returns only that it did. Any thread; what other threads print meanwhile is printed.

#include <string>

namespace esper::base {

// Once in a process, before other threads print. Without it captures keep nothing, and all is printed. The program and
// a library that it loads have a copy of this file each: captures of the one that calls it keep.
void route_cerr();

// Keeps what this thread prints on std::cerr while it lives, and prints it at its end.
class CerrCapture {
 public:
  CerrCapture();
  ~CerrCapture();
  CerrCapture(const CerrCapture&) = delete;
  CerrCapture& operator=(const CerrCapture&) = delete;

  const std::string& text() const { return text_; }
  // What was kept so far is not printed.
  void discard() { text_.clear(); }

 private:
  std::string text_;
  std::string* outer_;  // of the capture around it; null: none
};

}  // namespace esper::base
