#include "tolaria/checkpoint/checkpoint.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text/json_fields.h"
#include "device/cuda_table.h"
#include "device/pinned_memory.h"
#include "kasmina/tensor/stored_tensor.h"
#include "storage/file_tools.h"
#include "storage/published_folder.h"
#include "storage/safetensors/safetensors.h"

namespace esper::tolaria {
namespace {

using kasmina::NamedTensor;
using nlohmann::json;
using storage::ReadFailure;

constexpr std::uint64_t kMaxStateBytes = 1ull << 40;
constexpr std::uint64_t kMaxPreprocessingBytes = 256ull << 20;
constexpr char kStateName[] = "state.safetensors";
using history::kRunName;
constexpr char kPreprocessingName[] = "preprocessing.json";

base::Expected<std::vector<NamedTensor>, ReadFailure> read_tensors(base::FileSystem& files, const std::string& path) {
  const auto loaded = storage::load_safetensors(files, path, kMaxStateBytes);
  if (!loaded) return base::failure(loaded.error());
  std::vector<NamedTensor> tensors;
  for (const auto& view : loaded->contents.tensors) {
    auto tensor = kasmina::tensor_of(view);
    if (!tensor) return storage::damaged(tensor.error());
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

// The id of the first one that is NaN or infinite; empty if all are finite.
std::string first_not_finite(const std::vector<NamedTensor>& tensors) {
  for (const auto& [id, tensor] : tensors) {
    if (tensor.is_floating_point() && tensor.numel() > 0 && !torch::isfinite(tensor).all().item<bool>()) return id;
  }
  return {};
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

bool lists(const storage::Manifest& manifest, const char* name) {
  return std::ranges::find(manifest.files, name, &storage::ManifestFile::name) != manifest.files.end();
}

// Empty if the name of the folder is that of its content, or no checkpoint's. Which one is the newest goes by the name.
std::string misnamed(const std::string& path, const CheckpointInfo& info) {
  const auto named = history::checkpoint_entry("", path.substr(path.find_last_of('/') + 1));
  if (!named || (named->step == info.step && named->epoch == info.epoch)) return {};
  return "its content is that of " + history::checkpoint_name(info.epoch, info.step) +
         "; rename it so, or move it away";
}

struct Verified {
  CheckpointInfo info;
  bool has_preprocessing = false;
};

base::Expected<Verified, ReadFailure> verify(base::FileSystem& files, const std::string& path) {
  const auto manifest = storage::verify_folder(files, path);
  if (!manifest) return base::failure(manifest.error());
  for (const char* name : {kStateName, kRunName}) {
    if (!lists(*manifest, name)) return storage::unreadable("its manifest does not list " + std::string(name));
  }
  try {
    const json& fields = manifest->fields;
    Verified verified{{base::whole_at<std::int64_t>(fields, "step"), base::whole_at<std::uint32_t>(fields, "epoch"),
                       fields.at("training_hash")},
                      lists(*manifest, kPreprocessingName)};
    if (std::string problem = misnamed(path, verified.info); !problem.empty()) return storage::unreadable(problem);
    return verified;
  } catch (const json::exception& error) {
    return storage::unreadable("its manifest lacks a field: " + base::plain_reason(error));
  }
}

// Its hashes are correct: if it is not understood it is of another version, not damaged.
base::Expected<CheckpointImage, ReadFailure> read_verified(base::FileSystem& files, const std::string& path,
                                                           const Verified& verified) {
  CheckpointImage image{verified.info, {}, read_run_json(files, path)};
  if (!image.run.is_object()) {
    return storage::unreadable(std::string(kRunName) + " is not a JSON object");
  }
  auto tensors = read_tensors(files, path + "/" + kStateName);
  if (!tensors) return storage::unreadable(tensors.error().problem);
  image.tensors = std::move(*tensors);
  if (verified.has_preprocessing) {
    image.preprocessing =
        storage::text_of(storage::read_file(files, path + "/" + kPreprocessingName, kMaxPreprocessingBytes));
  }
  return image;
}

}  // namespace

namespace {

// In page-locked memory each tensor begins at a cache line.
std::int64_t aligned_bytes(const torch::Tensor& tensor) {
  constexpr std::int64_t kLine = 64;
  return (static_cast<std::int64_t>(tensor.nbytes()) + kLine - 1) / kLine * kLine;
}

// Page-locked if there are so few bytes, and there is such memory: torch keeps it for later, twice as much at most.
torch::Tensor memory_for_copies(std::int64_t bytes) {
  constexpr std::int64_t kMostPinned = std::int64_t{1} << 30;
  if (bytes <= kMostPinned) {
    try {
      return device::empty_pinned({bytes}, torch::kUInt8);
    } catch (const c10::Error&) {  // NOLINT(bugprone-empty-catch)
      // The copies then wait one by one.
    }
  }
  return at::empty({bytes}, torch::dtype(torch::kUInt8));
}

std::uint64_t bytes_of(const storage::Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const auto& file : manifest.files) bytes += file.bytes;
  return bytes;
}

}  // namespace

// From a GPU all tensors are copied at once and waited for together.
std::vector<torch::Tensor> copy_to_cpu(const std::vector<torch::Tensor>& tensors) {
  std::int64_t bytes_on_card = 0;
  for (const auto& tensor : tensors) {
    if (tensor.is_cuda()) bytes_on_card += aligned_bytes(tensor);
  }
  const torch::Tensor memory = bytes_on_card > 0 ? memory_for_copies(bytes_on_card) : torch::Tensor();
  std::vector<torch::Tensor> copies;
  copies.reserve(tensors.size());
  std::optional<torch::Device> card;
  std::int64_t begin = 0;
  for (const auto& tensor : tensors) {
    if (!tensor.is_cuda()) {
      copies.push_back(
          tensor.detach().to(torch::kCPU, tensor.scalar_type(), false, true, torch::MemoryFormat::Contiguous));
      continue;
    }
    card = tensor.device();
    const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
    copies.push_back(memory.narrow(0, begin, bytes).view(tensor.scalar_type()).view(tensor.sizes()));
    copies.back().copy_(tensor.detach(), /*non_blocking=*/true);
    begin += aligned_bytes(tensor);
  }
  if (card) device::cuda().synchronize(card->index());
  return copies;
}

std::vector<NamedTensor> copy_to_cpu(const std::vector<NamedTensor>& tensors) {
  std::vector<torch::Tensor> unnamed;
  unnamed.reserve(tensors.size());
  for (const auto& [id, tensor] : tensors) unnamed.push_back(tensor);
  auto copies = copy_to_cpu(unnamed);
  std::vector<NamedTensor> named;
  named.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) named.push_back({tensors[i].id, std::move(copies[i])});
  return named;
}

std::string first_not_finite(const CheckpointImage& image) {
  if (const auto id = first_not_finite(image.tensors); !id.empty()) return "tensor " + id;
  return first_not_finite(image.run, std::string(kRunName) + ": ");
}

std::uint64_t write_checkpoint(base::FileSystem& files, const std::string& path, const CheckpointImage& image,
                               const std::vector<storage::FolderFile>& further) {
  std::vector<storage::TensorView> views;
  views.reserve(image.tensors.size());
  for (const auto& tensor : image.tensors) views.push_back(kasmina::view_of(tensor));
  const std::string run = image.run.dump();
  std::vector<storage::FolderFile> contents = {
      {kStateName, [&](const storage::ByteSink& sink) { storage::write_safetensors(views, {}, sink); }},
      {kRunName, [&](const storage::ByteSink& sink) { sink(storage::bytes_of(run)); }}};
  if (!image.preprocessing.empty()) {
    contents.push_back(
        {kPreprocessingName, [&](const storage::ByteSink& sink) { sink(storage::bytes_of(image.preprocessing)); }});
  }
  contents.insert(contents.end(), further.begin(), further.end());
  const json fields = {
      {"step", image.info.step}, {"epoch", image.info.epoch}, {"training_hash", image.info.training_hash}};
  return bytes_of(storage::publish_folder(files, path, contents, fields));
}

std::uint64_t checkpoint_bytes(base::FileSystem& files, const std::string& path) {
  const auto manifest = storage::verify_folder(files, path);
  return manifest ? bytes_of(*manifest) : 0;
}

base::Expected<CheckpointInfo, ReadFailure> verify_checkpoint(base::FileSystem& files, const std::string& path) {
  const auto verified = verify(files, path);
  if (!verified) return base::failure(verified.error());
  return verified->info;
}

base::Expected<CheckpointImage, ReadFailure> read_image(base::FileSystem& files, const std::string& path) {
  const auto verified = verify(files, path);
  if (!verified) return base::failure(verified.error());
  try {
    return read_verified(files, path, *verified);
  } catch (const base::IoError& error) {
    if (!storage::is_of_the_file(error)) throw;
    return storage::unreadable(error.what());
  }
}

base::Expected<CheckpointImage, ReadFailure> read_checkpoint(base::FileSystem& files, const std::string& path) {
  auto image = read_image(files, path);
  if (!image) return image;
  if (const auto id = first_not_finite(image->tensors); !id.empty()) {
    return storage::damaged(fmt::format("{}: tensor {} is not finite; no run saves such a state", kStateName, id));
  }
  return image;
}

std::string why_unusable(const std::string& path, const ReadFailure& failure) {
  return path + (failure.fault == storage::Fault::kDamaged ? " is damaged: " : " cannot be read: ") + failure.problem;
}

}  // namespace esper::tolaria
