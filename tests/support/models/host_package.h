#pragma once
// A small imported network as files: two linear layers with a dropout and a counter of batches between them, whose
// weights are known.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kasmina/host/host_package.h"
#include "kasmina/tensor/stored_tensor.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"
#include "support/temporary_folder.h"

namespace esper::test {

using nlohmann::json;

inline constexpr std::int64_t kPackageInputs = 4, kPackageHidden = 6, kPackageOutputs = 3;

// relu(linear(x)) goes on twice, so that one value passes the slot behind `hidden` beside it; dropout only in training.
// Values: 0 to 3 the weights and biases of a and b, 4 the counter, 5 the batch, 6 a's output, 7 the feature behind
// `hidden`, 8 that after dropout, 9 the sum of 6 and 8, 10 the output.
inline json package_program(bool trains) {
  json program = json::parse(R"({
    "version": 1,
    "inputs": [["host.a.weight", "in"], ["host.a.bias", "in"], ["host.b.weight", "in"], ["host.b.bias", "in"],
               ["host.count", "in"], ["input", "in"]],
    "values": [[6, 0, [6, 4], [4, 1]], [6, 0, [6], [1]], [6, 0, [3, 6], [6, 1]], [6, 0, [3], [1]], [4, 0, [], []],
               [6, 0, [61, 4], [4, 1]], [6, 0, [61, 6], [6, 1]], [6, 0, [61, 6], [6, 1]], [6, 0, [61, 6], [6, 1]],
               [6, 0, [61, 6], [6, 1]], [6, 0, [61, 3], [3, 1]]],
    "operations": [["aten::linear", [["tensor", 5], ["tensor", 0], ["tensor", 1]], [["tensor", 6]]],
                   ["aten::relu", [["tensor", 6]], [["tensor", 7]]],
                   ["aten::dropout", [["tensor", 7], ["real", 4602678819172646912], ["bool", false]], [["tensor", 8]]],
                   ["aten::add.Tensor", [["tensor", 8], ["tensor", 6], ["int", 1]], [["tensor", 9]]],
                   ["aten::linear", [["tensor", 9], ["tensor", 2], ["tensor", 3]], [["tensor", 10]]]],
    "expressions": [[1, 5, 0, 0, 1, 0], [1, 6, 0, 0, 1, 0], [1, 7, 0, 0, 1, 0], [1, 8, 0, 0, 1, 0], [1, 9, 0, 0, 1, 0],
                    [1, 10, 0, 0, 1, 0]],
    "output": 10})");
  if (!trains) return program;
  auto& operations = program["operations"];
  operations[2][1][2][1] = true;
  operations.insert(operations.begin() + 2,
                    json::parse(R"(["aten::add_.Scalar", [["tensor", 4], ["int", 1], ["int", 1]],
                                                            [["tensor", 4]]])"));
  return program;
}

inline json package_description() {
  return json::parse(R"({
    "format": 1, "source": "model.py:Net", "output": [3], "input": {"sizes": [4], "dtype": "float32"},
    "parameters": ["host.a.weight", "host.a.bias", "host.b.weight", "host.b.bias"], "frozen": [],
    "sites": [{"path": "hidden", "also": ["hidden.1"], "kind": "features", "shape": [6], "auto": true, "taken_by": "",
               "train": [7, 1], "evaluate": [7, 1]},
              {"path": "sum", "also": [], "kind": "features", "shape": [6], "auto": false, "taken_by": "host.b",
               "train": [9, 4], "evaluate": [9, 3]}]})");
}

// The numbers 0.01, 0.02, ... with changing signs.
inline torch::Tensor package_numbers(at::IntArrayRef sizes) {
  const auto count = c10::multiply_integers(sizes);
  const auto numbers = at::arange(1, count + 1, at::kFloat) * 0.01;
  return (numbers * (1 - 2 * at::arange(count, at::kFloat).remainder(3).eq(1).to(at::kFloat))).view(sizes);
}

struct PackageFiles {
  json description = package_description(), train = package_program(true), evaluate = package_program(false);
  std::vector<kasmina::NamedTensor> weights{{"host.a.weight", package_numbers({kPackageHidden, kPackageInputs})},
                                            {"host.a.bias", package_numbers({kPackageHidden})},
                                            {"host.b.weight", package_numbers({kPackageOutputs, kPackageHidden})},
                                            {"host.b.bias", package_numbers({kPackageOutputs})},
                                            {"host.count", at::zeros({}, at::kLong)}};
};

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Writes them and returns the folder of the package.
inline std::string write_package(const TemporaryFolder& folder, const PackageFiles& files = {}) {
  const std::string parts = folder.path() + "/parts", package = folder.path() + "/package";
  std::filesystem::create_directories(parts);
  write_text(parts + "/host.json", files.description.dump());
  write_text(parts + "/train.json", files.train.dump());
  write_text(parts + "/evaluate.json", files.evaluate.dump());
  std::vector<storage::TensorView> views;
  for (const auto& tensor : files.weights) views.push_back(kasmina::view_of(tensor));
  std::string bytes;
  storage::write_safetensors(
      views, {}, [&](storage::Bytes part) { bytes.append(reinterpret_cast<const char*>(part.data()), part.size()); });
  write_text(parts + "/weights.safetensors", bytes);
  kasmina::publish_host_package(parts, storage::real_file_system(), package);
  return package;
}

}  // namespace esper::test
