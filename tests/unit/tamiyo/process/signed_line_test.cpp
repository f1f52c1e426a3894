#include "tamiyo/process/signed_line.h"

#include <catch2/catch_test_macros.hpp>

#include "unit/tamiyo/signed_commands.h"

namespace esper::tamiyo::signed_line_test {

TEST_CASE("a line is a code, a blank and the text, and whoever has the key can check it") {
  const auto line = answer_line("{\"number\":1}", test_key());
  const auto split = split_line(line);
  REQUIRE(split);
  CHECK(split->text == "{\"number\":1}");
  CHECK(is_signed_answer(*split, test_key()));
  CHECK_FALSE(is_signed_answer(*split, test_key(2)));
  // What any other program computes; Python: hmac.new(bytes([1] + 31 * [0]), b'esper answer 1\n{"number":1}', "sha256")
  CHECK(split->signature ==
        crypto::mac_of(test_key(), storage::bytes_of("esper answer 1\n{"), storage::bytes_of("\"number\":1}")));
}

TEST_CASE("a command's code is none of an answer with the same text") {
  const auto command = split_line(command_line(addressed_command(), test_key()));
  REQUIRE(command);
  CHECK(is_signed({command->text, command->signature}, test_key()));
  CHECK_FALSE(is_signed_answer(*command, test_key()));
  const auto answer = split_line(answer_line(command->text, test_key()));
  CHECK_FALSE(is_signed({answer->text, answer->signature}, test_key()));
}

TEST_CASE("what has another form is no line of a controller") {
  const std::string code(64, '0');
  for (const std::string& line : {std::string(), std::string("{}"), code, code + "{}", code.substr(1) + " {}"}) {
    CAPTURE(line);
    CHECK_FALSE(split_line(line));
  }
  CHECK(split_line(code + " "));
}

}  // namespace esper::tamiyo::signed_line_test
