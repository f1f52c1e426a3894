#include "data/token_splits.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text/json_struct.h"
#include "data/files/byte_file.h"
#include "data/files/input_error.h"
#include "data/files/mapped_file.h"
#include "data/order/selection.h"
#include "data/windows.h"

namespace esper::data {
namespace {

using config::DataConfig;
using config::TokenType;

std::size_t size_of_token(TokenType type) { return type == TokenType::kUint16 ? 2 : 4; }

// The tensor keeps the file mapped.
torch::Tensor map_tokens(const std::string& path, TokenType type) {
  auto file = std::make_shared<MappedFile>(path);
  const auto bytes = file->bytes();
  const auto size = size_of_token(type);
  if (bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b && path.ends_with(".gz")) {
    fail_input(path, "", "is compressed; tokens are mapped into memory as they are, so unpack it");
  }
  if (bytes.size() % size != 0) {
    fail_input(path, at_byte(static_cast<std::int64_t>(bytes.size() - bytes.size() % size)),
               fmt::format("the last token is truncated: a token of data.token_type has {} bytes", size));
  }
  return torch::from_blob(
      const_cast<std::uint8_t*>(bytes.data()), {static_cast<std::int64_t>(bytes.size() / size)}, [file](void*) {},
      type == TokenType::kUint16 ? torch::kUInt16 : torch::kInt32);
}

// limit: tokens that there are. Returns the largest token.
template <class Token>
std::int64_t largest(const torch::Tensor& tokens, std::int64_t limit, const std::string& file, const char* why) {
  const auto* begin = static_cast<const Token*>(tokens.const_data_ptr());
  const auto* end = begin + tokens.numel();
  const auto* most = std::max_element(begin, end);
  if (std::int64_t{*most} < limit) return *most;
  const auto* first = std::find_if(begin, end, [limit](Token token) { return std::int64_t{token} >= limit; });
  fail_input(file, fmt::format("token {}", first - begin), fmt::format("{} is {} {}", *first, why, limit - 1));
}

std::int64_t largest_token(const torch::Tensor& tokens, std::int64_t limit, const std::string& file, const char* why) {
  return tokens.scalar_type() == torch::kUInt16 ? largest<std::uint16_t>(tokens, limit, file, why)
                                                : largest<std::uint32_t>(tokens, limit, file, why);
}

constexpr char kUnbelievable[] = "more than the largest token of any vocabulary that is read (data.token_type?),";
constexpr char kUnknown[] = "not in the vocabulary, whose largest token is";

std::vector<std::string> read_vocabulary(const std::string& file, const ReadOptions& options) {
  constexpr std::size_t kMostBytes = 256u << 20;
  const auto bytes = read_bytes(file, options);
  auto document = base::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, kMostBytes);
  if (!document) fail_input(file, "", document.error());
  if (!document->is_array() || document->empty()) fail_input(file, "", "is not a JSON list of the tokens' texts");
  std::vector<std::string> texts;
  for (const auto& text : *document) {
    if (!text.is_string()) fail_input(file, fmt::format("entry {}", texts.size()), "is not a text");
    texts.push_back(text.get<std::string>());
  }
  if (static_cast<std::int64_t>(texts.size()) > kMaxClasses) {
    fail_input(file, "", fmt::format("more than {} tokens", kMaxClasses));
  }
  return texts;
}

class TokenSplitter {
 public:
  TokenSplitter(const DataConfig& config, const ReadOptions& options) : config_(config) {
    if (!config.vocabulary.empty()) texts_ = read_vocabulary(config.vocabulary, options);
  }

  Splits split(TestPart test) {
    const auto all = map_tokens(config_.path, config_.token_type);
    const bool own = !config_.validation_path.empty();
    const auto more = own ? map_tokens(config_.validation_path, config_.token_type) : torch::Tensor();
    learn_vocabulary(all, more);
    const SplitFractions fractions{own ? 0 : config_.validation_fraction, config_.test_fraction};
    require_splittable(config_.path, all.size(0), fractions);
    const auto counts = split_counts(all.size(0), fractions);
    Splits splits;
    splits.train = part(all.narrow(0, 0, counts.train), config_.path);
    splits.validation =
        own ? part(more, config_.validation_path) : part(all.narrow(0, counts.train, counts.validation), config_.path);
    if (test == TestPart::kUnread) return splits;
    if (!config_.test_path.empty()) {
      const auto tokens = map_tokens(config_.test_path, config_.token_type);
      largest_token(tokens, vocabulary_, config_.test_path, kUnknown);
      splits.test = part(tokens, config_.test_path);
    } else if (counts.test > 0) {
      splits.test = part(all.narrow(0, all.size(0) - counts.test, counts.test), config_.path);
    }
    return splits;
  }

 private:
  void learn_vocabulary(const torch::Tensor& all, const torch::Tensor& more) {
    const bool listed = !texts_.empty();
    const auto limit = listed ? static_cast<std::int64_t>(texts_.size()) : kMaxClasses;
    const auto* why = listed ? kUnknown : kUnbelievable;
    auto most = largest_token(all, limit, config_.path, why);
    if (more.defined()) most = std::max(most, largest_token(more, limit, config_.validation_path, why));
    vocabulary_ = listed ? limit : most + 1;
  }

  Dataset part(const torch::Tensor& tokens, const std::string& file) const {
    Dataset set;
    set.inputs = tokens;
    set.windows = window_starts(tokens.size(0), config_, file, "tokens");
    set.shape = leyline::tokens_shape(config_.context, vocabulary_);
    set.class_names = texts_;
    return set;
  }

  const DataConfig& config_;
  std::vector<std::string> texts_;  // of the tokens; empty: they stay numbers
  std::int64_t vocabulary_ = 0;
};

}  // namespace

Splits split_tokens(const DataConfig& config, TestPart test, const ReadOptions& options) {
  if (!config.shape.empty()) fail_config("shape", "does not apply to tokens; data.context sets the length of a sample");
  return TokenSplitter(config, options).split(test);
}

Dataset load_other_tokens(const DataConfig& config, std::int64_t vocabulary) {
  Dataset set;
  set.inputs = map_tokens(config.test_path, config.token_type);
  largest_token(set.inputs, vocabulary, config.test_path, kUnknown);
  set.windows = window_starts(set.inputs.size(0), config, config.test_path, "tokens");
  set.shape = leyline::tokens_shape(config.context, vocabulary);
  return set;
}

}  // namespace esper::data
