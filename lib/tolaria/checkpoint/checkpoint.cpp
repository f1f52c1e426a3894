#include "tolaria/checkpoint/checkpoint.h"

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/published_folder.h"
#include "storage/safetensors.h"

namespace esper::tolaria {
namespace {

using kasmina::NamedTensor;
using nlohmann::json;
using storage::Dtype;
using storage::ReadFailure;

constexpr std::uint64_t kMaxStateBytes = 1ull << 40;
constexpr std::uint64_t kMaxRunBytes = 64ull << 20;
constexpr char kStateName[] = "state.safetensors";
constexpr char kRunName[] = "run.json";

constexpr std::array kDtypes{std::pair{torch::kFloat32, Dtype::kF32},   std::pair{torch::kFloat64, Dtype::kF64},
                             std::pair{torch::kInt64, Dtype::kI64},     std::pair{torch::kInt32, Dtype::kI32},
                             std::pair{torch::kUInt8, Dtype::kU8},      std::pair{torch::kBool, Dtype::kBool},
                             std::pair{torch::kBFloat16, Dtype::kBF16}, std::pair{torch::kFloat16, Dtype::kF16}};

storage::TensorView view_of(const NamedTensor& named) {
  const torch::Tensor& tensor = named.tensor;
  ESPER_CHECK(tensor.is_cpu() && tensor.is_contiguous(), "a tensor to be saved is a contiguous CPU copy: " + named.id);
  for (const auto& [torch_type, type] : kDtypes) {
    if (torch_type != tensor.scalar_type()) continue;
    std::vector<std::int64_t> shape(tensor.sizes().begin(), tensor.sizes().end());
    return {named.id, type, std::move(shape),
            std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes())};
  }
  ESPER_CHECK(false, "a tensor of this type cannot be saved: " + named.id);
}

base::Expected<NamedTensor, ReadFailure> tensor_of(const storage::TensorView& view) {
  for (const auto& [torch_type, type] : kDtypes) {
    if (type != view.dtype) continue;
    torch::Tensor tensor = torch::empty(view.shape, torch_type);
    if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
    return NamedTensor{view.name, tensor};
  }
  return storage::damaged("tensor " + view.name + " has a type that no run saves");
}

base::Expected<std::vector<NamedTensor>, ReadFailure> read_tensors(base::FileSystem& files, const std::string& path) {
  const auto loaded = storage::load_safetensors(files, path, kMaxStateBytes);
  if (!loaded) return base::failure(loaded.error());
  std::vector<NamedTensor> tensors;
  for (const auto& view : loaded->contents.tensors) {
    auto tensor = tensor_of(view);
    if (!tensor) return base::failure(tensor.error());
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

// JSON has no NaN: it would be read back as null.
std::string first_not_finite(const json& value, const std::string& place) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return place;
  if (!value.is_structured()) return {};
  for (const auto& [key, item] : value.items()) {
    if (auto found = first_not_finite(item, place + "/" + key); !found.empty()) return found;
  }
  return {};
}

// Its hashes are correct: if it is not understood it is of another version, not damaged.
base::Expected<CheckpointImage, ReadFailure> read_verified(base::FileSystem& files, const std::string& path,
                                                           const CheckpointInfo& info) {
  CheckpointImage image{info, {}, read_run_json(files, path)};
  if (!image.run.is_object()) {
    return storage::unreadable(std::string(kRunName) + " is not a JSON object");
  }
  auto tensors = read_tensors(files, path + "/" + kStateName);
  if (!tensors) return storage::unreadable(tensors.error().problem);
  image.tensors = std::move(*tensors);
  return image;
}

}  // namespace

std::vector<NamedTensor> copy_to_cpu(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copies;
  copies.reserve(tensors.size());
  for (const auto& [id, tensor] : tensors) {
    copies.push_back(
        {id, tensor.detach().to(torch::kCPU, tensor.scalar_type(), false, true, torch::MemoryFormat::Contiguous)});
  }
  return copies;
}

std::string first_not_finite(const CheckpointImage& image) {
  for (const auto& [id, tensor] : image.tensors) {
    if (tensor.is_floating_point() && tensor.numel() > 0 && !torch::isfinite(tensor).all().item<bool>()) {
      return "tensor " + id;
    }
  }
  return first_not_finite(image.run, std::string(kRunName) + ": ");
}

std::uint64_t write_checkpoint(base::FileSystem& files, const std::string& path, const CheckpointImage& image) {
  std::vector<storage::TensorView> views;
  views.reserve(image.tensors.size());
  for (const auto& tensor : image.tensors) views.push_back(view_of(tensor));
  const std::string run = image.run.dump();
  const std::vector<storage::FolderFile> contents = {
      {kStateName, [&](const storage::ByteSink& sink) { storage::write_safetensors(views, {}, sink); }},
      {kRunName, [&](const storage::ByteSink& sink) { sink(storage::bytes_of(run)); }}};
  const json fields = {
      {"step", image.info.step}, {"epoch", image.info.epoch}, {"training_hash", image.info.training_hash}};
  const auto manifest = storage::publish_folder(files, path, contents, fields);
  std::uint64_t bytes = 0;
  for (const auto& file : manifest.files) bytes += file.bytes;
  return bytes;
}

base::Expected<CheckpointInfo, ReadFailure> verify_checkpoint(base::FileSystem& files, const std::string& path) {
  const auto manifest = storage::verify_folder(files, path);
  if (!manifest) return base::failure(manifest.error());
  for (const char* name : {kStateName, kRunName}) {
    if (std::ranges::find(manifest->files, name, &storage::ManifestFile::name) == manifest->files.end()) {
      return storage::unreadable("its manifest does not list " + std::string(name));
    }
  }
  try {
    const json& fields = manifest->fields;
    return CheckpointInfo{fields.at("step"), fields.at("epoch"), fields.at("training_hash")};
  } catch (const json::exception& error) {
    return storage::unreadable("its manifest lacks a field: " + std::string(error.what()));
  }
}

json read_run_json(base::FileSystem& files, const std::string& path) {
  const auto run = storage::read_file(files, path + "/" + kRunName, kMaxRunBytes);
  return json::parse(storage::text_of(run), nullptr, false);
}

base::Expected<CheckpointImage, ReadFailure> read_checkpoint(base::FileSystem& files, const std::string& path) {
  const auto info = verify_checkpoint(files, path);
  if (!info) return base::failure(info.error());
  try {
    return read_verified(files, path, *info);
  } catch (const base::IoError& error) {
    if (!storage::is_of_the_file(error)) throw;
    return storage::unreadable(error.what());
  }
}

std::string why_unusable(const std::string& path, const ReadFailure& failure) {
  return path + (failure.fault == storage::Fault::kDamaged ? " is damaged: " : " cannot be read: ") + failure.problem;
}

}  // namespace esper::tolaria
