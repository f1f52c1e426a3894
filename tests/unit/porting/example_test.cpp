#include "porting/example.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::example_test {

using namespace esper;

TEST_CASE("pixels are drawn as bytes and prepared as the data are") {
  data::Preprocessing it;
  it.shape = leyline::image_shape(2, 3, 4, 5);
  it.element = data::Element::kPixel;
  it.standardization = {{0.5f, 0.25f}, {0.5f, 2.0f}};
  const auto example = porting::make_example(it, 3);
  CHECK(example.raw.scalar_type() == torch::kUInt8);
  REQUIRE(example.inputs.sizes() == torch::IntArrayRef({3, 2, 3, 4}));
  const auto second = (example.raw.select(1, 1).to(torch::kFloat32) / 255 - 0.25) / 2.0;
  CHECK(at::allclose(example.inputs.select(1, 1), second));
  CHECK(example.text.empty());
  CHECK(at::equal(example.inputs, porting::make_example(it, 3).inputs));
}

TEST_CASE("numbers lie around their mean; without standardisation they are taken as they are") {
  data::Preprocessing it;
  it.shape = leyline::features_shape(2, 3);
  it.standardization = {{100.0f, -100.0f}, {1.0f, 2.0f}};
  const auto example = porting::make_example(it, 50);
  CHECK(example.raw.select(1, 0).min().item<float>() > 90);
  CHECK(example.inputs.abs().max().item<float>() < 10);
  it.standardization = {};
  const auto plain = porting::make_example(it, 50);
  CHECK(at::equal(plain.raw, plain.inputs));
}

TEST_CASE("tokens come with the first sequence as a prompt: characters of a text, else numbers") {
  data::Preprocessing it;
  it.task = config::Task::kLanguage;
  it.element = data::Element::kToken;
  it.shape = leyline::tokens_shape(6, 3);
  it.class_names = {"a", "\u00e9", "c"};
  const auto numbers = porting::make_example(it, 2).text;
  it.kind = config::DataKind::kText;
  const auto example = porting::make_example(it, 2);
  std::string expected, expected_numbers;
  for (int i = 0; i < 6; ++i) {
    const auto token = example.inputs[0][i].item<std::int64_t>();
    expected += it.class_names[static_cast<std::size_t>(token)];
    expected_numbers += std::to_string(token) + " ";
  }
  CHECK(example.text == expected);
  CHECK(numbers == expected_numbers);
  CHECK_FALSE(example.raw.defined());
}

}  // namespace esper::test::example_test
