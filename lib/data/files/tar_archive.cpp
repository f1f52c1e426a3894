#include "data/files/tar_archive.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "data/files/input_error.h"

// Layout: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; GNU tar's manual, "Basic Tar Format".
namespace esper::data {
namespace {

constexpr std::int64_t kBlock = 512;
constexpr std::size_t kNameAt = 0, kSizeAt = 124, kSumAt = 148, kTypeAt = 156, kMagicAt = 257, kPrefixAt = 345;
constexpr std::size_t kNameSize = 100, kNumberSize = 12, kSumSize = 8, kPrefixSize = 155;
constexpr std::int64_t kLongestName = 4096, kLongestPax = 1 << 20;

// What stands before a member to hold for it.
struct Override {
  std::string name;
  std::optional<std::int64_t> size;
};

class TarLister {
 public:
  TarLister(std::span<const std::uint8_t> archive, const std::filesystem::path& file)
      : text_(reinterpret_cast<const char*>(archive.data()), archive.size()), file_(file) {}

  std::vector<TarMember> list() {
    if (text_.starts_with("\x1f\x8b")) fail("is compressed; unpack it: shards are mapped into memory as they are");
    while (at_ < end() && !is_zero_block()) member();
    return std::move(members_);
  }

 private:
  std::int64_t end() const { return static_cast<std::int64_t>(text_.size()); }
  [[noreturn]] void fail(const std::string& text) const { fail_input(file_, at_byte(at_), text); }

  std::string_view field(std::size_t begin, std::size_t size) const {
    const auto whole = text_.substr(static_cast<std::size_t>(at_) + begin, size);
    return whole.substr(0, whole.find('\0'));
  }

  void require_block() const {
    if (end() - at_ < kBlock) fail("the archive is truncated in a header");
  }

  bool is_zero_block() const {
    require_block();
    const auto block = text_.substr(static_cast<std::size_t>(at_), kBlock);
    return block.find_first_not_of('\0') == block.npos;
  }

  // Octal, or GNU's binary form for what does not fit.
  std::int64_t number(std::size_t begin, std::size_t size) const {
    const auto whole = text_.substr(static_cast<std::size_t>(at_) + begin, size);
    if (static_cast<std::uint8_t>(whole[0]) == 0x80) {
      std::int64_t value = 0;
      for (const char byte : whole.substr(1)) {
        if (value >> 54 != 0) fail("a size is too large");
        value = value << 8 | static_cast<std::uint8_t>(byte);
      }
      return value;
    }
    auto text = field(begin, size);
    text = text.substr(std::min(text.find_first_not_of(' '), text.size()));
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
    const bool ends = rest == text.data() + text.size() || *rest == ' ';
    if (error != std::errc() || value < 0 || !ends) fail("not a tar header: a number is damaged");
    return value;
  }

  void check_sum() const {
    const auto claimed = number(kSumAt, kSumSize);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kBlock); ++i) {
      const bool blank = i >= kSumAt && i < kSumAt + kSumSize;
      sum += blank ? ' ' : static_cast<std::uint8_t>(text_[static_cast<std::size_t>(at_) + i]);
    }
    if (sum != claimed) fail("not a tar header, or a damaged one: its checksum is wrong");
  }

  std::string header_name() const {
    std::string name(field(kNameAt, kNameSize));
    if (field(kMagicAt, 6) != "ustar") return name;
    const auto prefix = field(kPrefixAt, kPrefixSize);
    return prefix.empty() ? name : std::string(prefix) + "/" + name;
  }

  void member() {
    require_block();
    check_sum();
    const char type = text_[static_cast<std::size_t>(at_) + kTypeAt];
    auto size = number(kSizeAt, kNumberSize);
    const bool is_file = type == '0' || type == '\0' || type == '7';
    if (is_file && override_.size) size = *override_.size;
    const auto begin = at_ + kBlock;
    if (size > end() - begin) {
      fail(fmt::format("the archive is truncated: a member of {} bytes begins {} bytes before its end", size,
                       end() - begin));
    }
    const auto content = text_.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    if (is_file) {
      members_.push_back({override_.name.empty() ? header_name() : override_.name, begin, size});
      override_ = {};
    } else if (type == 'x') {
      read_pax(content);
    } else if (type == 'L') {
      if (size > kLongestName) fail("a name is too long");
      override_.name = content.substr(0, content.find('\0'));
    } else {
      override_ = {};
    }
    const auto blocks = (size + kBlock - 1) / kBlock * kBlock;
    at_ = std::min(begin + blocks, end());
  }

  // "LENGTH KEY=VALUE\n", each with its own length.
  void read_pax(std::string_view records) {
    if (static_cast<std::int64_t>(records.size()) > kLongestPax) fail("an extended header is too long");
    while (!records.empty()) {
      std::size_t length = 0;
      const auto [rest, error] = std::from_chars(records.data(), records.data() + records.size(), length);
      const auto digits = static_cast<std::size_t>(rest - records.data());
      if (error != std::errc() || length <= digits + 1 || length > records.size() || records[digits] != ' ' ||
          records[length - 1] != '\n') {
        fail("a damaged extended header");
      }
      take_pax(records.substr(digits + 1, length - digits - 2));
      records.remove_prefix(length);
    }
  }

  void take_pax(std::string_view record) {
    const auto equals = record.find('=');
    if (equals == record.npos) fail("a damaged extended header");
    const auto key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") {
      if (static_cast<std::int64_t>(value.size()) > kLongestName) fail("a name is too long");
      override_.name = value;
    } else if (key == "size") {
      std::int64_t size = 0;
      const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (error != std::errc() || rest != value.data() + value.size() || size < 0) fail("a damaged extended header");
      override_.size = size;
    }
  }

  std::string_view text_;
  const std::filesystem::path& file_;
  std::int64_t at_ = 0;
  Override override_;
  std::vector<TarMember> members_;
};

}  // namespace

std::vector<TarMember> list_tar(std::span<const std::uint8_t> archive, const std::filesystem::path& file) {
  return TarLister(archive, file).list();
}

}  // namespace esper::data
