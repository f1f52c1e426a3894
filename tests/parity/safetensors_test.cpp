// Files between this reader and writer and the Python package `safetensors`, both ways, every type.

#include "storage/safetensors/safetensors.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::safetensors_test {

using namespace esper::storage;
using esper::test::TemporaryFolder;
using nlohmann::json;

namespace {

constexpr std::chrono::seconds kPythonDeadline(960);
const std::string kPython = ESPER_SOURCE_DIR "/.esper/python/bin/python";
const std::string kScript = ESPER_SOURCE_DIR "/scripts/check_safetensors.py";

[[noreturn]] void become_python(const std::string& command, const std::string& file, int input, int output) {
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  const char* arguments[] = {kPython.c_str(), kScript.c_str(), command.c_str(), file.c_str(), nullptr};
  ::execv(kPython.c_str(), const_cast<char**>(arguments));
  ::_exit(127);
}

// Everything from `descriptor` until its end; false if that takes too long.
bool read_until_end(int descriptor, std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + kPythonDeadline;
  std::array<char, 65536> buffer;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wait{descriptor, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return false;
    const auto got = ::read(descriptor, buffer.data(), buffer.size());
    if (got <= 0) return got == 0;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// Runs scripts/check_safetensors.py without a shell; returns what it printed.
std::string run_python(const TemporaryFolder& folder, const std::string& command, const std::string& file,
                       const std::string& input = "") {
  REQUIRE(::access(kPython.c_str(), X_OK) == 0);  // part of the private environment: scripts/bootstrap
  const std::string input_path = folder / "input";
  publish_file(real_file_system(), input_path, bytes_of(input));
  const int in = ::open(input_path.c_str(), O_RDONLY | O_CLOEXEC);
  int out[2];
  REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) become_python(command, file, in, out[1]);
  ::close(in);
  ::close(out[1]);
  std::string printed;
  const bool ended = read_until_end(out[0], printed);
  ::close(out[0]);
  if (!ended) ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(ended);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return printed;
}

std::string hex_of(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += kDigits[std::to_integer<int>(byte) >> 4];
    text += kDigits[std::to_integer<int>(byte) & 15];
  }
  return text;
}

json describe(const std::vector<TensorView>& tensors) {
  json result = json::object();
  for (const auto& tensor : tensors) {
    result[tensor.name] = {{"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.shape}, {"hex", hex_of(tensor.bytes)}};
  }
  return result;
}

// Every type as matrix, scalar and empty tensor; small numbers as float32 so that numpy's view can be compared.
struct Sample {
  std::vector<float> values;
  std::string pattern;
  std::vector<TensorView> tensors;
  TensorMetadata metadata = {{"esper", "v\"1\"\n\x7f\x01 é"}};  // one entry: the package writes several in any order

  Sample() {
    for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i) * 0.37f - 3.0f);
    for (int i = 0; i < 64; ++i) pattern += static_cast<char>(i * 37 + 11);
    for (int i = 0; i <= static_cast<int>(Dtype::kU64); ++i) {
      const auto dtype = static_cast<Dtype>(i);
      const std::string name(dtype_name(dtype));
      add(name + ".matrix", dtype, {2, 3});
      add(name + ".scalar", dtype, {});
      add(name + ".empty", dtype, {2, 0});
    }
    tensors.push_back({"host.stage1.wéight \"q\"", Dtype::kF32, {2, 3, 4}, std::as_bytes(std::span(values))});
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  void add(const std::string& name, Dtype dtype, const std::vector<std::int64_t>& shape) {
    std::string_view source = pattern;
    if (dtype == Dtype::kBool) source = std::string_view("\1\0\1\1\0\0", 6);
    if (dtype == Dtype::kF32) source = text_of(std::as_bytes(std::span(values)));
    tensors.push_back({name, dtype, shape, bytes_of(source).first(*byte_count(shape, dtype))});
  }
};

}  // namespace

TEST_CASE("Python reads what we write") {
  TemporaryFolder folder;
  const Sample sample;
  const std::string path = folder / "ours.safetensors";
  publish_file(real_file_system(), path,
               [&](const ByteSink& sink) { write_safetensors(sample.tensors, sample.metadata, sink); });
  const json seen = json::parse(run_python(folder, "describe", path));
  CHECK(seen.at("metadata") == json(sample.metadata));
  CHECK(seen.at("tensors") == describe(sample.tensors));
  CHECK(seen.at("float32").at("host.stage1.wéight \"q\"") == json(sample.values));
}

TEST_CASE("we read what Python writes, and write the same bytes") {
  TemporaryFolder folder;
  const Sample sample;
  const std::string theirs = folder / "theirs.safetensors";
  const json description = {{"tensors", describe(sample.tensors)}, {"metadata", sample.metadata}};
  run_python(folder, "write", theirs, description.dump());
  const auto loaded = load_safetensors(real_file_system(), theirs, 1 << 20);
  INFO(loaded.error_or({}).problem);
  REQUIRE(loaded);
  CHECK(loaded->contents.metadata == sample.metadata);
  CHECK(describe(loaded->contents.tensors) == describe(sample.tensors));
  std::string ours;
  write_safetensors(sample.tensors, sample.metadata, [&](Bytes bytes) { ours += text_of(bytes); });
  CHECK((ours == text_of(loaded->file)));
}

}  // namespace esper::test::safetensors_test
