#include <catch2/catch_test_macros.hpp>
#include <random>

#include "config/loading/load.h"
#include "config/writing/write.h"

namespace esper::test::load_fuzz_test {

using namespace esper;
using namespace esper::base;
using namespace esper::config;

namespace {

using namespace std::string_view_literals;

// Bytes that mean something to YAML come up more often than chance would have it.
constexpr auto kReporting = "\n\t\r :-,[]{}#&*!|>'\"%@`?<~0123456789.eEyn\\/=\0\x80\xFF\xEF\xBB\xBF"sv;

std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  const std::size_t edits = 1 + below(4);
  for (std::size_t edit = 0; edit < edits; ++edit) {
    const std::size_t at = below(text.size() + 1);
    const char byte = below(4) == 0 ? static_cast<char>(below(256)) : kReporting[below(kReporting.size())];
    switch (below(6)) {
      case 0:
        text.insert(at, 1, byte);
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        if (at < text.size()) text[at] = byte;
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(60)));
        break;
      case 4:
        text.resize(at);
        break;
      default:
        text.insert(at, std::string(1 + below(80), byte));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("no mutation of a run file crashes the loader") {
  RunConfig config;
  config.host.hidden = {8, 16};
  config.growth.slots = {"r0c0"};
  const std::string good = resolved_yaml(config) + "# end\n";
  std::mt19937 random(1337);
  int accepted = 0;
  constexpr int kMutations = 20'000;
  for (int i = 0; i < kMutations; ++i) {
    // A part of the file now and then, so that the top of it is not the only thing that is hit.
    const std::size_t from = i % 2 == 0 ? 0 : good.find('\n', random() % (good.size() / 2)) + 1;
    const std::string text = mutated(good.substr(from, i % 3 == 0 ? std::string::npos : 600), random);
    const LoadedConfig loaded = read_run_config_text(text, "f");
    if (!loaded.problems.empty()) continue;
    ++accepted;
    // Whatever is accepted is a config that can be written and read again.
    const LoadedConfig again = read_run_config_text(resolved_yaml(loaded.config), "f");
    REQUIRE(again.problems.empty());
  }
  CHECK(accepted > 0);
  CHECK(accepted < kMutations);
}

TEST_CASE("random bytes are refused without a crash") {
  std::mt19937 random(7);
  for (int i = 0; i < 5'000; ++i) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = kReporting[random() % kReporting.size()];
    CHECK_FALSE(read_run_config_text(text, "f").problems.empty());
  }
}

}  // namespace esper::test::load_fuzz_test
