#include "data/files/npy_array.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/text/printable.h"
#include "data/files/input_error.h"

namespace esper::data {
namespace {

constexpr std::size_t kLongestHeader = 65536;

// The header is a Python dictionary of three fixed keys; this reads that and nothing more.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t offset, NpyArray& array)
      : text_(text), offset_(offset), array_(array) {}

  void parse() {
    expect('{');
    std::vector<std::string_view> seen;
    while (!accept('}')) {
      const auto key = quoted();
      if (std::ranges::find(seen, key) != seen.end()) fail("a key twice");
      seen.push_back(key);
      expect(':');
      if (key == "descr")
        type();
      else if (key == "fortran_order")
        array_.layout = boolean() ? Layout::kColumnMajor : Layout::kRowMajor;
      else if (key == "shape")
        shape();
      else
        fail("unknown key");
      if (!accept(',') && peek() != '}') fail("expected ',' or '}'");
    }
    if (seen.size() != 3 || peek() != '\0') fail("expected exactly descr, fortran_order and shape");
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    fail_input(array_.source, at_byte(static_cast<std::int64_t>(offset_ + at_)), "damaged .npy header: " + text);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a quoted word; structured arrays are not supported");
    const auto begin = ++at_, end = text_.find(quote, begin);
    if (end == text_.npos) fail("unterminated string");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }
  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    fail("expected True or False");
  }
  void type() {
    const auto word = quoted();
    static constexpr std::string_view kKnown[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                                  "i8", "u1", "u2", "u4", "u8", "b1"};
    const bool marked = !word.empty() && std::string_view("<>|=").find(word[0]) != std::string_view::npos;
    const auto kind = word.substr(marked ? 1 : 0);
    if (std::find(std::begin(kKnown), std::end(kKnown), kind) == std::end(kKnown)) {
      fail_input(array_.source, at_byte(static_cast<std::int64_t>(offset_ + at_)),
                 fmt::format("unsupported element type {}; numbers are supported, with classes as whole numbers from 0",
                             base::in_quotes(word)));
    }
    array_.type = kind[0];
    array_.item_size = kind[1] - '0';
    array_.order = word[0] == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
  }
  void shape() {
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || array_.sizes.size() >= 8)
        fail("a size is not a number or too large, or there are too many");
      at_ = static_cast<std::size_t>(end - text_.data());
      array_.sizes.push_back(size);
      if (!accept(',') && peek() != ')') fail("expected ',' or ')'");
    }
  }

  std::string_view text_;
  std::size_t offset_, at_ = 0;
  NpyArray& array_;
};

float half_to_float(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.f : 1.f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(static_cast<float>(fraction + 1024), exponent - 25)
                          : std::ldexp(static_cast<float>(fraction), -24));
}

template <class T>
T load(const std::uint8_t* bytes, ByteOrder order) {
  std::uint8_t copy[sizeof(T)];
  std::memcpy(copy, bytes, sizeof(T));
  if (order == ByteOrder::kBig) std::reverse(copy, copy + sizeof(T));
  T value;
  std::memcpy(&value, copy, sizeof(T));
  return value;
}

double element(const NpyArray& a, const std::uint8_t* at) {
  switch (a.type * 16 + a.item_size) {
    case 'f' * 16 + 2:
      return half_to_float(load<std::uint16_t>(at, a.order));
    case 'f' * 16 + 4:
      return load<float>(at, a.order);
    case 'f' * 16 + 8:
      return load<double>(at, a.order);
    case 'i' * 16 + 1:
      return load<std::int8_t>(at, a.order);
    case 'i' * 16 + 2:
      return load<std::int16_t>(at, a.order);
    case 'i' * 16 + 4:
      return load<std::int32_t>(at, a.order);
    case 'i' * 16 + 8:
      return static_cast<double>(load<std::int64_t>(at, a.order));
    case 'u' * 16 + 2:
      return load<std::uint16_t>(at, a.order);
    case 'u' * 16 + 4:
      return load<std::uint32_t>(at, a.order);
    case 'u' * 16 + 8:
      return static_cast<double>(load<std::uint64_t>(at, a.order));
    default:
      return *at;  // u1, b1
  }
}

// Calls visit(element's address) in row-major order whatever the layout is.
template <class Visit>
void walk(const NpyArray& a, Visit visit) {
  const auto* data = a.bytes.data() + a.begin;
  const auto count = a.count();
  if (a.layout == Layout::kRowMajor || a.sizes.size() < 2) {
    for (std::int64_t i = 0; i < count; ++i) visit(data + i * a.item_size);
    return;
  }
  std::vector<std::int64_t> index(a.sizes.size(), 0), stride(a.sizes.size(), 1);
  for (std::size_t d = 1; d < stride.size(); ++d) stride[d] = stride[d - 1] * a.sizes[d - 1];
  for (std::int64_t i = 0, at = 0; i < count; ++i) {
    visit(data + at * a.item_size);
    for (std::size_t d = index.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < a.sizes[d]) break;
      at -= stride[d] * a.sizes[d];
      index[d] = 0;
    }
  }
}

}  // namespace

NpyArray parse_npy(Bytes bytes, const std::string& source) {
  NpyArray array;
  array.source = source;
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    fail_input(source, at_byte(0), "not a .npy file");
  const int version = bytes[6];
  if (version < 1 || version > 3)
    fail_input(source, at_byte(6), fmt::format(".npy version {}; 1 to 3 are supported", version));
  const std::size_t prefix = version == 1 ? 10 : 12;
  const std::size_t length = version == 1 ? load<std::uint16_t>(bytes.data() + 8, ByteOrder::kLittle)
                                          : load<std::uint32_t>(bytes.data() + 8, ByteOrder::kLittle);
  if (length > std::min(kLongestHeader, bytes.size() - prefix))
    fail_input(source, at_byte(8), "the header is longer than the file or than the limit");
  HeaderParser({reinterpret_cast<const char*>(bytes.data()) + prefix, length}, prefix, array).parse();
  array.begin = prefix + length;
  auto sizes = array.sizes;
  sizes.push_back(array.item_size);
  const auto promised = checked_product(sizes);
  const auto held = static_cast<std::int64_t>(bytes.size() - array.begin);
  if (!promised || *promised != held) {
    fail_input(source, at_byte(static_cast<std::int64_t>(array.begin)),
               fmt::format("the header declares {} bytes of elements, the file holds {}",
                           promised ? std::to_string(*promised) : "more than 2^63", held));
  }
  array.bytes = std::move(bytes);
  return array;
}

std::vector<double> npy_numbers(const NpyArray& array) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(array.count()));
  walk(array, [&](const std::uint8_t* at) { numbers.push_back(element(array, at)); });
  return numbers;
}

std::vector<float> npy_floats(const NpyArray& array) {
  std::vector<float> numbers;
  numbers.reserve(static_cast<std::size_t>(array.count()));
  walk(array, [&](const std::uint8_t* at) { numbers.push_back(static_cast<float>(element(array, at))); });
  return numbers;
}

Bytes npy_pixels(const NpyArray& array) {
  Bytes pixels;
  pixels.reserve(static_cast<std::size_t>(array.count()));
  walk(array, [&](const std::uint8_t* at) { pixels.push_back(*at); });
  return pixels;
}

}  // namespace esper::data
