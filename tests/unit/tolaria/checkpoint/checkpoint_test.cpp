#include "tolaria/checkpoint/checkpoint.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "storage/atomic_publish.h"
#include "support/checkpoint_fixture.h"
#include "support/faults/faulty_file_system.h"
#include "support/models/step_fixture.h"

namespace esper::test::checkpoint_test {

using tolaria::CheckpointImage;
using tolaria::copy_to_cpu;
using tolaria::first_not_finite;
using tolaria::read_checkpoint;
using tolaria::read_image;
using tolaria::verify_checkpoint;
using tolaria::write_checkpoint;

namespace {

using esper::test::FaultyFileSystem;

constexpr char kPath[] = "/c";
constexpr const char* kFiles[] = {"manifest.json", "preprocessing.json", "run.json", "state.safetensors"};

CheckpointImage image_of_every_kind() {
  const torch::Tensor numbers = at::arange(12, torch::kFloat64).mul(0.37).sub(2).reshape({3, 4});
  std::vector<kasmina::NamedTensor> tensors = {{"f64", numbers},
                                               {"f32", numbers.to(torch::kFloat32)},
                                               {"bf16", numbers.to(torch::kBFloat16)},
                                               {"f16", numbers.to(torch::kFloat16)},
                                               {"i64", at::arange(5, torch::kInt64).mul(std::int64_t{1} << 60)},
                                               {"i32", at::arange(5, torch::kInt32)},
                                               {"u8", at::arange(251, torch::kUInt8)},
                                               {"bool", numbers.gt(0)},
                                               {"scalar", at::full({}, 1.0 / 3, torch::kFloat32)},
                                               {"empty", at::zeros({0, 4}, torch::kInt64)},
                                               {"transposed", numbers.to(torch::kFloat32).t()},
                                               {"strided", numbers.select(1, 2)},
                                               {"expanded", at::full({1}, 7.0).expand({6})},
                                               {"negative_zero", at::full({2}, -0.0)},
                                               {"parameter", at::ones({2, 2}).requires_grad_(true)}};
  CheckpointImage image;
  image.info = {123456789012, 7, "hash"};
  image.tensors = copy_to_cpu(tensors);
  image.run = {{"tensors", tensors.size()}};
  image.preprocessing = R"({"version":1})";
  return image;
}

const torch::Tensor& tensor_of(const CheckpointImage& image, const std::string& id) {
  for (const auto& named : image.tensors) {
    if (named.id == id) return named.tensor;
  }
  FAIL("no tensor " << id);
  return image.tensors.front().tensor;
}

// The files of a whole checkpoint, and what becomes of reading it with one of them changed.
struct Published {
  FaultyFileSystem files;
  std::map<std::string, std::string> contents;

  Published() {
    write_checkpoint(files, kPath, image_of_every_kind());
    for (const auto* name : kFiles) contents[name] = files.contents(std::string(kPath) + "/" + name).value();
  }
  std::string problem_with(const std::string& name, const std::string& changed) {
    files.put(std::string(kPath) + "/" + name, changed);
    const auto read = read_checkpoint(files, kPath);
    files.put(std::string(kPath) + "/" + name, contents.at(name));
    return read.error_or({}).problem;
  }
};

}  // namespace

TEST_CASE("a checkpoint gives back the bits of every kind of tensor") {
  FaultyFileSystem files;
  const auto image = image_of_every_kind();
  CHECK(write_checkpoint(files, kPath, image) > 1000);
  const auto read = read_checkpoint(files, kPath);
  REQUIRE(read);
  CHECK(read->info == image.info);
  CHECK(read->run == image.run);
  CHECK(read->preprocessing == image.preprocessing);
  REQUIRE(read->tensors.size() == image.tensors.size());
  for (const auto& [id, tensor] : image.tensors) {
    INFO(id);
    CHECK(same_bits(tensor_of(*read, id), tensor));
  }
}

TEST_CASE("a checkpoint of an earlier version has no preprocessing, whatever lies in its folder") {
  FaultyFileSystem files;
  auto image = image_of_every_kind();
  image.preprocessing.clear();
  write_checkpoint(files, kPath, image);
  files.put(std::string(kPath) + "/preprocessing.json", "{}");
  const auto read = read_checkpoint(files, kPath);
  REQUIRE(read);
  CHECK(read->preprocessing.empty());
}

TEST_CASE("copies for a checkpoint are contiguous, on the CPU, and independent of the originals") {
  const torch::Tensor original = at::arange(6, torch::kFloat32).reshape({2, 3});
  const auto copy = copy_to_cpu({{"t", original.t()}}).front().tensor;
  original.zero_();
  CHECK(copy.is_contiguous());
  CHECK_FALSE(copy.requires_grad());
  CHECK(same_bits(copy, at::arange(6, torch::kFloat32).reshape({2, 3}).t()));
}

TEST_CASE("a tensor that is no contiguous copy is a bug, not wrong bytes") {
  FaultyFileSystem files;
  CheckpointImage image;
  image.tensors = {{"t", at::ones({2, 3}).t()}};
  CHECK_THROWS_AS(write_checkpoint(files, kPath, image), base::Error);
  CHECK(files.names_in("/").empty());
}

TEST_CASE("numbers of run.json come back to the last bit") {
  const std::vector<double> numbers = {0.1,
                                       1.0 / 3,
                                       std::nextafter(1.0, 2.0),
                                       5e-324,
                                       -0.0,
                                       1e308,
                                       -2.5e-9,
                                       123456789.123456789,
                                       M_PI,
                                       0.30000000000000004,
                                       1e22,
                                       2.0,
                                       std::numeric_limits<double>::max(),
                                       1e-5};
  FaultyFileSystem files;
  CheckpointImage image;
  image.run = {{"numbers", numbers}, {"large", UINT64_MAX}};
  write_checkpoint(files, kPath, image);
  const auto read = read_checkpoint(files, kPath);
  REQUIRE(read);
  CHECK(read->run.at("large") == UINT64_MAX);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double back = read->run.at("numbers").at(i);
    CHECK(std::memcmp(&back, &numbers[i], sizeof back) == 0);
  }
}

TEST_CASE("a checkpoint with a truncated file is refused with a reason, whatever is left of it") {
  Published checkpoint;
  for (const auto& [name, whole] : checkpoint.contents) {
    for (std::size_t size = 0; size < whole.size(); size += 512) {
      INFO(name << " cut to " << size << " of " << whole.size());
      CHECK(checkpoint.problem_with(name, whole.substr(0, size)) != "");
    }
    CHECK(checkpoint.problem_with(name, whole.substr(0, whole.size() - 1)) != "");
    CHECK(checkpoint.problem_with(name, whole + '\0') != "");
  }
}

TEST_CASE("a checkpoint with one flipped bit is refused with a reason, wherever it is") {
  Published checkpoint;
  int places = 0;
  for (const auto& [name, whole] : checkpoint.contents) {
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string changed = whole;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      if (checkpoint.problem_with(name, changed).empty()) FAIL(name << ", bit " << bit << " went unseen");
      ++places;
    }
  }
  CHECK(places > 10000);
  CHECK(read_checkpoint(checkpoint.files, kPath));
}

TEST_CASE("a missing file, an empty folder and a folder of something else are no checkpoints") {
  Published checkpoint;
  for (const auto* name : kFiles) {
    checkpoint.files.remove(std::string(kPath) + "/" + name);
    const auto read = read_checkpoint(checkpoint.files, kPath);
    CHECK_FALSE(read);
    CHECK(read.error().problem.find(name) != std::string::npos);
    checkpoint.files.put(std::string(kPath) + "/" + name, checkpoint.contents.at(name));
  }
  storage::publish_folder(checkpoint.files, "/other",
                          {{"run.json", [](const storage::ByteSink& sink) { sink(storage::bytes_of("{}")); }}}, {});
  const auto other = read_checkpoint(checkpoint.files, "/other");
  CHECK_FALSE(other);
  CHECK(other.error().problem == "its manifest does not list state.safetensors");
  CHECK_FALSE(read_checkpoint(checkpoint.files, "/nothing"));
}

TEST_CASE("a tensor that is not finite is damage, though every hash is right") {
  FaultyFileSystem files;
  auto image = image_of_every_kind();
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    CAPTURE(value);
    const std::string path = std::isnan(value) ? "/nan" : "/infinite";
    image.tensors.at(1) = {"f32", at::full({3}, value, torch::kFloat32)};
    write_checkpoint(files, path, image);
    CHECK(verify_checkpoint(files, path));
    CHECK(read_image(files, path));
    const auto read = read_checkpoint(files, path);
    REQUIRE_FALSE(read);
    CHECK(read.error().fault == storage::Fault::kDamaged);
    CHECK(read.error().problem == "state.safetensors: tensor f32 is not finite; no run saves such a state");
  }
}

TEST_CASE("what is not finite is named") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  CheckpointImage image = image_of_every_kind();
  CHECK(first_not_finite(image).empty());
  for (const auto type : {torch::kFloat32, torch::kFloat64, torch::kBFloat16, torch::kFloat16}) {
    auto broken = image;
    broken.tensors.push_back({"last", at::tensor({1.0, infinity}, torch::kFloat64).to(type)});
    CHECK(first_not_finite(broken) == "tensor last");
  }
  image.run["controller"] = {{"values", {1.0, nan}}};
  CHECK(first_not_finite(image) == "run.json: /controller/values/1");
}

}  // namespace esper::test::checkpoint_test
