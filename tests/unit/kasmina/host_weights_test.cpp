#include "kasmina/host/host_weights.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/error.h"
#include "kasmina/host/host.h"
#include "support/models/host_package.h"

namespace esper::kasmina::host_weights_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::TemporaryFolder;

Host mlp() {
  config::HostConfig config;
  config.kind = config::HostKind::kMlp;
  config.hidden = {8};
  return build_host(config, leyline::features_shape(4, 3), 1, torch::kCPU);
}

std::string write(const TemporaryFolder& folder, const std::vector<NamedTensor>& tensors) {
  std::vector<storage::TensorView> views;
  for (const auto& tensor : tensors) views.push_back(view_of(tensor));
  std::string bytes;
  storage::write_safetensors(
      views, {}, [&](storage::Bytes part) { bytes.append(reinterpret_cast<const char*>(part.data()), part.size()); });
  const std::string path = folder.path() + "/weights.safetensors";
  test::write_text(path, bytes);
  return path;
}

}  // namespace

TEST_CASE("weights are taken by name, and every difference is listed") {
  const TemporaryFolder folder;
  const Host host = mlp();
  const auto before = find_parameter(host.tensors, "host.head.weight").clone();
  const auto path = write(folder, {{"block0.linear.weight", at::full({8, 4}, 0.5)},
                                   {"host.block0.linear.bias", at::full({8}, 0.25, at::kHalf)},
                                   {"head.weight", at::zeros({10, 8})},
                                   {"classifier.weight", at::zeros({2})}});
  const auto weights = take_weights(host.tensors, path);
  CHECK(weights.taken == std::vector<std::string>{"host.block0.linear.weight", "host.block0.linear.bias"});
  CHECK(weights.other_shape == std::vector<std::string>{"host.head.weight [3, 8] and [10, 8]"});
  CHECK(weights.only_in_host == std::vector<std::string>{"host.head.bias"});
  CHECK(weights.only_in_file == std::vector<std::string>{"classifier.weight"});
  CHECK(find_parameter(host.tensors, "host.block0.linear.weight").eq(0.5).all().item<bool>());
  CHECK(find_parameter(host.tensors, "host.block0.linear.bias").eq(0.25).all().item<bool>());
  CHECK(at::equal(find_parameter(host.tensors, "host.head.weight"), before));
  CHECK_THAT(differences(weights), ContainsSubstring("classifier.weight") && ContainsSubstring("host.head.bias"));
}

TEST_CASE("weights of another model, and what is no weights at all, are refused") {
  const TemporaryFolder folder;
  const Host host = mlp();
  const auto refusal = [&](const std::string& path) {
    try {
      take_weights(host.tensors, path);
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ExitCode::kData);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refusal(write(folder, {{"conv1.weight", at::zeros({8, 3})}})), ContainsSubstring("conv1.weight"));
  test::write_text(folder.path() + "/pickle.pt", "\x80\x02}q");
  CHECK_THAT(refusal(folder.path() + "/pickle.pt"), ContainsSubstring("safetensors"));
  CHECK_THAT(refusal(folder.path() + "/none"), ContainsSubstring("none"));
}

}  // namespace esper::kasmina::host_weights_test
