#include "base/text/cerr_capture.h"

#include <iostream>
#include <new>
#include <streambuf>
#include <string_view>
#include <utility>

namespace esper::base {
namespace {

thread_local std::string* kept_text = nullptr;  // null: this thread's text is printed

// False: it is to be printed, as where memory runs out. A stream whose buffer throws would print nothing any more.
bool keep_text(std::string_view text) {
  if (kept_text == nullptr) return false;
  try {
    kept_text->append(text);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

class CerrRouter final : public std::streambuf {
 public:
  void print_to(std::streambuf* printer) { printer_ = printer; }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return keep_text({text, static_cast<std::size_t>(size)}) ? size : printer_->sputn(text, size);
  }
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    const char one = traits_type::to_char_type(character);
    return keep_text({&one, 1}) ? character : printer_->sputc(one);
  }
  int sync() override { return kept_text == nullptr ? printer_->pubsync() : 0; }

 private:
  std::streambuf* printer_ = nullptr;
};

}  // namespace

void route_cerr() {
  static auto* const router = new CerrRouter;  // never destroyed: libraries print until the end
  if (std::cerr.rdbuf() == router) return;
  router->print_to(std::cerr.rdbuf());
  std::cerr.rdbuf(router);
}

CerrCapture::CerrCapture() : outer_(std::exchange(kept_text, &text_)) {}

CerrCapture::~CerrCapture() {
  kept_text = outer_;
  if (!text_.empty()) std::cerr << text_;
}

}  // namespace esper::base
