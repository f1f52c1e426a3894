#include "data/token_splits.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "data/loading/loader.h"
#include "unit/data/test_files.h"

namespace esper::data::test::token_splits_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataConfig;
using config::DataKind;
using config::Task;
using config::TokenType;

template <class Token>
std::vector<Token> counted(std::int64_t count) {
  std::vector<Token> tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(i % 50));
  return tokens;
}

class Tokens {
 public:
  explicit Tokens(const Bytes& bytes, TokenType type = TokenType::kUint16) {
    write_file(folder_ / "train.bin", bytes);
    config.kind = DataKind::kTokens;
    config.path = folder_ / "train.bin";
    config.token_type = type;
    config.context = 10;
  }
  Splits load(TestPart test = TestPart::kUnread) const { return load_dataset(config, test, Task::kLanguage); }
  std::string complaint() const {
    const auto error = error_of([&] { load(TestPart::kRead); });
    CHECK(error.code() == base::ExitCode::kData);
    return error.what();
  }
  std::string file(const std::string& name, const Bytes& bytes) const {
    write_file(folder_ / name, bytes);
    return folder_ / name;
  }

  DataConfig config;

 private:
  TempFolder folder_;
};

TEST_CASE("tokens: a file of either type gives windows, split as text is") {
  const Tokens narrow(raw(counted<std::uint16_t>(1000))), wide(raw(counted<std::uint32_t>(1000)), TokenType::kUint32);
  const auto splits = narrow.load();
  CHECK(splits.train.shape == leyline::tokens_shape(10, 50));
  CHECK(splits.train.inputs.scalar_type() == torch::kUInt16);
  CHECK(num_samples(splits.train) == 79);
  CHECK(num_samples(splits.validation) == 19);
  CHECK(wide.load().train.inputs.scalar_type() == torch::kInt32);
  for (const auto* data : {&narrow, &wide}) {
    const auto loaded = data->load();
    LoaderConfig config;
    config.batch_size = 8;
    for (const auto source : {Source::kThreads, Source::kResident}) {
      config.source = source;
      config.order = Order::kSequential;
      Loader loader(loaded.validation, {}, config);
      const auto batch = loader.next();
      CHECK(batch->inputs.scalar_type() == torch::kInt64);
      CHECK(torch::equal(batch->inputs[1], torch::tensor({10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, torch::kInt64)));
      CHECK(torch::equal(batch->targets, (batch->inputs + 1).remainder(50)));
    }
  }
}

TEST_CASE("tokens: a vocabulary names them, and other files may hold no others") {
  Tokens data(raw(counted<std::uint16_t>(400)));
  std::string list = "[\"<s>\"";
  for (int i = 1; i < 60; ++i) list += ",\"w" + std::to_string(i) + "\"";
  data.config.vocabulary = data.file("v.json", to_bytes(list + "]"));
  const auto splits = data.load();
  CHECK(splits.train.shape.num_classes == 60);
  CHECK(splits.train.class_names.at(59) == "w59");
  data.config.vocabulary = data.file("v.json", to_bytes("[\"a\", \"b\"]"));
  CHECK_THAT(data.complaint(),
             ContainsSubstring("train.bin: token 2: 2 is not in the vocabulary, whose largest token is 1"));
  data.config.vocabulary = data.file("v.json", to_bytes("{\"a\": 1}"));
  CHECK_THAT(data.complaint(), ContainsSubstring("v.json: is not a JSON list"));
  data.config.vocabulary = data.file("v.json", to_bytes("[\"a\", 7]"));
  CHECK_THAT(data.complaint(), ContainsSubstring("v.json: entry 1: is not a text"));
  data.config.vocabulary.clear();
  data.config.test_path = data.file("test.bin", raw(std::vector<std::uint16_t>(40, 51)));
  CHECK_THAT(data.complaint(), ContainsSubstring("test.bin: token 0: 51 is not in the vocabulary"));
}

TEST_CASE("tokens: validation and test part, at the end or in files of their own") {
  Tokens data(raw(counted<std::uint16_t>(1000)));
  data.config.test_fraction = 0.1;
  const auto splits = data.load(TestPart::kRead);
  CHECK(splits.train.inputs.size(0) == 700);
  CHECK(splits.test->inputs.size(0) == 100);
  data.config.test_fraction = 0;
  data.config.validation_path = data.file("val.bin", raw(std::vector<std::uint16_t>(40, 70)));
  const auto own = data.load();
  CHECK(own.train.inputs.size(0) == 1000);
  CHECK(own.train.shape.num_classes == 71);
  CHECK(own.validation.inputs.size(0) == 40);
}

TEST_CASE("tokens: files of another form are refused") {
  CHECK_THAT(Tokens(Bytes(41)).complaint(), ContainsSubstring("train.bin: byte 40: the last token is truncated"));
  CHECK_THAT(Tokens(Bytes(8)).complaint(), ContainsSubstring("too short for data.context = 10"));
  CHECK_THAT(
      Tokens(raw(std::vector<std::uint32_t>(100, 4'000'000'000u)), TokenType::kUint32).complaint(),
      ContainsSubstring("token 0: 4000000000 is more than the largest token") && ContainsSubstring("data.token_type"));
  Tokens empty(Bytes{});
  CHECK_THAT(empty.complaint(), ContainsSubstring("is empty"));
  empty.config.path = empty.file("t.bin.gz", gzip(Bytes(100)));
  CHECK_THAT(empty.complaint(), ContainsSubstring("is compressed"));
}

// Private memory of this process in KiB.
std::int64_t anonymous_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "RssAnon:") continue;
    std::int64_t value = 0;
    status >> value;
    return value;
  }
  return 0;
}

TEST_CASE("tokens: a large file is not read into memory") {
  const Tokens data(raw(counted<std::uint16_t>(100)));
  constexpr std::int64_t kBytes = std::int64_t{1} << 28;
  std::filesystem::resize_file(data.config.path, kBytes);  // a hole of zeros, which takes no room on the disk
  const auto before = anonymous_memory();
  const auto splits = data.load();
  CHECK(splits.train.inputs.numel() + splits.validation.inputs.numel() == kBytes / 2);
  CHECK((anonymous_memory() - before) * 1024 < kBytes / 2);
}

}  // namespace
}  // namespace esper::data::test::token_splits_test
