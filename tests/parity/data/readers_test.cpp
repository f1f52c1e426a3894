// Arrays that numpy wrote and pictures that Pillow wrote: read here, compared with what those packages read back.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <thread>

#include "data/files/byte_file.h"
#include "data/files/image_resize.h"
#include "data/readers/npy_reader.h"
#include "unit/data/test_files.h"

namespace esper::data::test::readers_test {
namespace {

constexpr std::chrono::seconds kPythonDeadline(960);

// Runs write_samples.py on the folder, without a shell.
void write_samples(const TempFolder& folder) {
  const std::string python = ESPER_SOURCE_DIR "/.esper/python/bin/python",
                    script = ESPER_SOURCE_DIR "/tests/parity/data/write_samples.py";
  REQUIRE(access(python.c_str(), X_OK) == 0);  // part of the private environment: scripts/bootstrap
  const std::string target = folder.path().string();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const char* arguments[] = {python.c_str(), script.c_str(), target.c_str(), nullptr};
    execv(python.c_str(), const_cast<char**>(arguments));
    _exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + kPythonDeadline;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  REQUIRE(status == 0);
}

template <class T>
std::vector<T> numbers_in(const std::filesystem::path& file) {
  const auto bytes = read_bytes_raw(file, {});
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

int largest_difference(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(int{a[i]} - int{b[i]}));
  return most;
}

TEST_CASE("arrays of every type, order and layout are read as numpy reads them") {
  const TempFolder folder;
  write_samples(folder);
  int read = 0;
  for (; std::filesystem::exists(folder / ("array" + std::to_string(read) + ".npz")); ++read) {
    const auto name = "array" + std::to_string(read);
    INFO(name);
    BadSamples bad(config::BadSample::kFail);
    const auto samples = read_npy(folder / (name + ".npz"), {}, bad).train;
    CHECK(samples.sizes == std::vector<std::int64_t>{2, 3, 5});
    const auto values =
        std::visit([](const auto& v) { return std::vector<float>(v.begin(), v.end()); }, samples.values);
    CHECK(values == numbers_in<float>(folder / (name + ".x")));
    CHECK(samples.labels == numbers_in<std::int64_t>(folder / (name + ".y")));
  }
  CHECK(read == 16);
}

TEST_CASE("pictures are decoded, greyed and scaled as Pillow does it") {
  const TempFolder folder;
  write_samples(folder);
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const auto file = entry.path();
    if (file.extension() != ".png" && file.extension() != ".jpg") continue;
    ++read;
    const auto beside = [&](const char* what) { return read_bytes_raw(file.string() + what, {}); };
    const auto image = decode_image(file, {});
    std::int64_t width = 0, height = 0;
    std::ifstream(file.string() + ".size") >> width >> height;
    INFO(file.filename());
    CHECK(image.width == width);
    CHECK(image.height == height);
    const int rgb = largest_difference(image.pixels, beside(".rgb"));
    const int grey = largest_difference(to_planes(image, 1), beside(".grey"));
    const int small = largest_difference(resize_square(image, 7).pixels, beside(".small"));
    const int large = largest_difference(resize_square(image, 90).pixels, beside(".large"));
    std::cout << file.filename().string() << ": largest difference " << rgb << ", grey " << grey << ", 7 x 7 " << small
              << ", 90 x 90 " << large << "\n";
    // Both sides use libjpeg-turbo, of different versions: no difference was ever seen, none is allowed.
    CHECK(std::max({rgb, grey, small, large}) == 0);
  }
  CHECK(read == 12);
}

}  // namespace
}  // namespace esper::data::test::readers_test
