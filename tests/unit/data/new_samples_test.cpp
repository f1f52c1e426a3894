#include "data/new_samples.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "test_files.h"

namespace esper::test::new_samples_test {

using namespace data::test;
using Catch::Matchers::ContainsSubstring;
using data::Bytes;
using data::Element;
using data::NewSampleFiles;
using data::Preprocessing;

namespace {

Preprocessing of_rows(std::int64_t features, std::vector<std::string> names = {}) {
  Preprocessing it;
  it.kind = config::DataKind::kCsv;
  it.shape = leyline::features_shape(features, 2);
  it.feature_names = std::move(names);
  return it;
}

Preprocessing of_pixels(std::int64_t channels, std::int64_t size) {
  Preprocessing it;
  it.kind = config::DataKind::kImages;
  it.element = Element::kPixel;
  it.shape = leyline::image_shape(channels, size, size, 2);
  return it;
}

std::string why(const std::filesystem::path& input, const Preprocessing& like) {
  const auto error = error_of([&] {
    NewSampleFiles files({input.string()}, like);
    for (int i = 0; i < 1000 && files.next(); ++i) continue;
  });
  CHECK(error.code() == base::ExitCode::kData);
  return error.what();
}

}  // namespace

TEST_CASE("rows of numbers are read with and without a header, and found by their names") {
  const TempFolder folder;
  write_file(folder / "plain.csv", "1,2.5\r\n-3,4\n");
  write_file(folder / "named.csv", "b , id,\"a\"\n2.5,7,1\n4,8,-3\n");
  const auto expected = torch::tensor({{1.0f, 2.5f}, {-3.0f, 4.0f}});
  for (const auto* name : {"plain.csv", "named.csv"}) {
    INFO(name);
    const auto like = of_rows(2, {"a", "b"});
    NewSampleFiles files({folder / name}, like);
    const auto samples = files.next();
    REQUIRE(samples);
    CHECK(samples->set.inputs.equal(expected));
    CHECK(samples->set.targets.sizes() == at::IntArrayRef({2}));
    CHECK(samples->positions == std::vector<std::int64_t>{0, 1});
    CHECK(samples->files == std::vector<std::string>(2, (folder / name).string()));
    CHECK_FALSE(files.next());
  }
}

TEST_CASE("rows that the network cannot take are refused with line and field") {
  const TempFolder folder;
  const auto refused = [&](const std::string& text, const Preprocessing& like) {
    write_file(folder / "rows.csv", text);
    return why(folder / "rows.csv", like);
  };
  CHECK_THAT(refused("1,2,0\n", of_rows(2)),
             ContainsSubstring("line 1: has 3 fields, expected 2; leave the target out"));
  CHECK_THAT(refused("1,2\n1\n", of_rows(2)), ContainsSubstring("line 2: has 1 fields, expected 2"));
  CHECK_THAT(refused("1,2\n1,x\n", of_rows(2)), ContainsSubstring("line 2, field 2: expected a number"));
  CHECK_THAT(refused("1,nan\n", of_rows(2)), ContainsSubstring("not a finite number"));
  CHECK_THAT(refused("a,c\n1,2\n", of_rows(2, {"a", "b"})),
             ContainsSubstring("column \"b\"") && ContainsSubstring("is missing"));
  CHECK_THAT(refused("a,b,b\n1,2,3\n", of_rows(2, {"a", "b"})), ContainsSubstring("occurs twice"));
  CHECK_THAT(refused("a,b\n", of_rows(2)), ContainsSubstring("holds no rows"));
  CHECK_THAT(refused("1,2\n", of_pixels(3, 4)), ContainsSubstring("table of numbers; the run was trained on pixels"));
}

TEST_CASE("images of a folder are read as training reads them, and each bad one is named") {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "in/deep");
  write_file(folder / "in/b.PNG", png(picture(8, 8, 1)));
  write_file(folder / "in/deep/a.jpg", jpeg(picture(12, 9, 2)));
  write_file(folder / "in/notes.txt", "not an image");
  auto like = of_pixels(3, 8);
  like.image_size = 8;
  NewSampleFiles files({folder / "in"}, like);
  CHECK(files.num_files() == 2);
  const auto samples = files.next();
  REQUIRE(samples);
  CHECK(samples->set.inputs.sizes() == at::IntArrayRef({2, 3, 8, 8}));
  CHECK(samples->set.inputs.scalar_type() == torch::kUInt8);
  CHECK(samples->files.at(0).ends_with("b.PNG"));
  const auto planes = to_planes(picture(8, 8, 1), 3);
  const auto* first = samples->set.inputs.const_data_ptr<std::uint8_t>();
  CHECK(std::equal(planes.begin(), planes.end(), first));

  write_file(folder / "in/c.png", "no png");
  write_file(folder / "in/d.png", "nor this");
  CHECK_THAT(why(folder / "in", like), ContainsSubstring("c.png") && ContainsSubstring("d.png"));
  like.image_size = 0;
  CHECK_THAT(why(folder / "in/deep", like), ContainsSubstring("is 12 x 9 pixels, the run was trained on 8 x 8"));
}

TEST_CASE("arrays have the samples first, and the type of the training data") {
  const TempFolder folder;
  const auto one = [&](const Preprocessing& like) {
    NewSampleFiles files({folder / "x.npy"}, like);
    return files.next()->set.inputs;
  };
  write_file(folder / "x.npy", npy("<f4", "(2, 3)", raw(std::vector<float>{1, 2, 3, 4, 5, 6})));
  CHECK(one(of_rows(3)).equal(torch::tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})));
  CHECK_THAT(why(folder / "x.npy", of_rows(4)), ContainsSubstring("samples of shape [3], the run was trained on [4]"));
  CHECK_THAT(why(folder / "x.npy", of_pixels(1, 3)), ContainsSubstring("shape [3]") && !ContainsSubstring("x[None]"));
  write_file(folder / "x.npy", npy("|u1", "(1, 2, 2)", Bytes{0, 1, 2, 255}));
  CHECK(one(of_pixels(1, 2)).equal(torch::tensor({{{{0, 1}, {2, 255}}}}, torch::kUInt8)));
  CHECK_THAT(why(folder / "x.npy", of_rows(4)), ContainsSubstring("uint8"));
  write_file(folder / "x.npy", npy("<f4", "(1, 2, 2)", raw(std::vector<float>{0, 1, 2, 3})));
  CHECK_THAT(why(folder / "x.npy", of_pixels(1, 2)), ContainsSubstring("trained on pixels"));
  CHECK(one(of_rows(4)).sizes() == at::IntArrayRef({1, 4}));
  write_file(folder / "x.npy", npy("|u1", "(3, 2, 2)", Bytes(12)));  // channels, height, width
  CHECK_THAT(why(folder / "x.npy", of_pixels(3, 2)), ContainsSubstring("x[None]"));
  write_file(folder / "x.npy", npy("<f4", "(1, 2)", raw(std::vector<float>{0, HUGE_VALF})));
  CHECK_THAT(why(folder / "x.npy", of_rows(2)), ContainsSubstring("sample 0: holds a number that is not finite"));
}

TEST_CASE("what is not there, empty or of an unknown kind is refused before anything is read") {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "empty");
  write_file(folder / "x.pdf", "x");
  CHECK_THAT(why(folder / "none.csv", of_rows(2)), ContainsSubstring("none.csv: does not exist"));
  CHECK_THAT(why(folder / "empty", of_pixels(3, 4)), ContainsSubstring("holds no images"));
  CHECK_THAT(why(folder / "x.pdf", of_rows(2)), ContainsSubstring("is not an image (.png, .jpg, .jpeg), array"));
  write_file(folder / "x.png", png(picture(4, 4, 1)));
  CHECK_THAT(why(folder / "x.png", of_rows(2)), ContainsSubstring("is an image; the run was trained on rows"));
}

}  // namespace esper::test::new_samples_test
