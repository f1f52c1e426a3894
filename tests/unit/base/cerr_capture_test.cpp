#include "base/text/cerr_capture.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <iostream>
#include <streambuf>
#include <string>
#include <thread>

#include "support/faults/failing_new.h"
#include "support/printed_errors.h"

namespace esper::test::cerr_capture_test {

using base::CerrCapture;

namespace {

// Printing to it allocates nothing.
class FixedText : public std::streambuf {
 public:
  FixedText() { setp(room_.data(), room_.data() + room_.size()); }
  std::string text() const { return {pbase(), pptr()}; }

 private:
  std::array<char, 1000> room_{};
};

}  // namespace

TEST_CASE("what a thread prints within a capture is kept, and what other threads print is printed") {
  const PrintedErrors printed;
  {
    CerrCapture capture;
    std::cerr << "kept " << 1 << std::endl;
    std::cerr.put('!');
    std::thread([] { std::cerr << "of another thread\n"; }).join();
    CHECK(capture.text() == "kept 1\n!");
    CHECK(printed.text() == "of another thread\n");
    capture.discard();
  }
  std::cerr << "after it\n";
  CHECK(printed.text() == "of another thread\nafter it\n");
}

TEST_CASE("a capture prints at its end what it kept, into the capture around it where there is one") {
  const PrintedErrors printed;
  {
    const CerrCapture outer;
    {
      const CerrCapture inner;
      std::cerr << "a warning\n";
    }
    CHECK(outer.text() == "a warning\n");
    CHECK(printed.text().empty());
  }
  CHECK(printed.text() == "a warning\n");
}

TEST_CASE("what a capture has no memory for is printed, and the stream goes on") {
  const std::string line = std::string(100, 'x') + "\n";
  FixedText printer;
  std::streambuf* const before = std::cerr.rdbuf(&printer);
  base::route_cerr();
  const auto failed = fail_each_allocation([&] {
    const CerrCapture capture;
    std::cerr << line;
  });
  const bool goes_on = std::cerr.good();
  std::cerr.rdbuf(before);
  CHECK(failed == 1);
  CHECK(goes_on);
  CHECK(printer.text() == line + line);  // with the lack of memory, and then without
}

}  // namespace esper::test::cerr_capture_test
