#include "tamiyo/network/policy_file.h"

#include <ATen/Functions.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/parse_number.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "storage/atomic_publish.h"
#include "storage/checksum.h"
#include "storage/file_tools.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

using storage::TensorMetadata;
using storage::TensorView;

constexpr std::string_view kOfEsper = "esper.";
constexpr char kDrawnFrom[] = "esper.drawn_from", kNormaliser[] = "esper.normaliser";
constexpr char kProvenance[] = "esper.provenance", kWeights[] = "esper.weights", kContents[] = "esper.contents";
constexpr std::size_t kMostNormaliser = 64 << 10;  // bytes

// The value of a key, which is taken out; empty where there is none.
std::string take(TensorMetadata& metadata, const char* key) {
  auto node = metadata.extract(key);
  return node.empty() ? std::string() : std::move(node.mapped());
}

storage::Bytes bytes_in(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// metadata: without kContents.
std::string hash_of(const Weights& tensors, const TensorMetadata& metadata) {
  constexpr std::string_view kEnd("\0", 1);
  storage::Hash64 hash;
  const auto add = [&hash](std::string_view text) {
    hash.update(storage::bytes_of(text));
    hash.update(storage::bytes_of(kEnd));
  };
  for (const auto& [name, tensor] : tensors) {
    add(name);
    hash.update(bytes_in(tensor));
  }
  for (const auto& [key, value] : metadata) {
    add(key);
    add(value);
  }
  return storage::hex64(hash.digest());
}

base::Expected<at::Tensor> read_tensor(const TensorView& view, const TensorSpec& spec) {
  if (view.dtype != storage::Dtype::kF32) {
    return base::failure(fmt::format("tensor {} has type {}, not F32", spec.name, storage::dtype_name(view.dtype)));
  }
  if (view.shape != spec.shape) {
    return base::failure(fmt::format("tensor {} has shape [{}], the network's is [{}]", spec.name,
                                     fmt::join(view.shape, ", "), fmt::join(spec.shape, ", ")));
  }
  at::Tensor tensor = at::empty(spec.shape, at::kFloat);
  float* values = tensor.mutable_data_ptr<float>();
  std::memcpy(values, view.bytes.data(), view.bytes.size());
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    if (!std::isfinite(values[i])) {
      return base::failure(fmt::format("tensor {} is not finite: element {} is {}", spec.name, i, values[i]));
    }
  }
  return tensor;
}

enum class Missing { kRefused, kDrawn };

base::Expected<Weights> read_tensors(const std::vector<TensorView>& views, Missing missing) {
  std::map<std::string_view, const TensorView*> by_name;
  for (const TensorView& view : views) by_name[view.name] = &view;
  Weights weights;
  for (const TensorSpec& spec : network_tensors()) {
    const auto found = by_name.find(spec.name);
    if (found == by_name.end()) {
      if (missing == Missing::kDrawn) continue;
      return base::failure(fmt::format("tensor {} is missing", spec.name));
    }
    auto tensor = read_tensor(*found->second, spec);
    if (!tensor) return base::failure(tensor.error());
    weights.emplace(spec.name, *std::move(tensor));
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    return base::failure(fmt::format("tensor {} is not one of the network's", base::in_quotes(by_name.begin()->first)));
  }
  return weights;
}

base::Expected<void> read_drawn_from(const std::string& text, PolicyFile& policy) {
  const auto seed = base::parse_number<std::uint64_t>(text);
  if (!seed) return base::failure(fmt::format("{} must be a seed, not {}", kDrawnFrom, base::in_quotes(text)));
  policy.drawn_from = *seed;
  return {};
}

base::Expected<void> read_normaliser_text(const std::string& text, PolicyFile& policy) {
  const auto document = base::parse_json(text, kMostNormaliser);
  if (!document) return base::failure(fmt::format("{}: {}", kNormaliser, document.error()));
  auto normaliser = read_normaliser(*document);
  if (!normaliser) return base::failure(fmt::format("{}: {}", kNormaliser, normaliser.error()));
  policy.normaliser = *normaliser;
  return {};
}

base::Expected<void> read_provenance_text(const std::string& text, PolicyFile& policy) {
  auto provenance = read_provenance(text);
  if (!provenance) return base::failure(fmt::format("{}: {}", kProvenance, provenance.error()));
  policy.provenance = *std::move(provenance);
  return {};
}

base::Expected<void> read_metadata(TensorMetadata metadata, StoredPolicy& stored) {
  using Read = base::Expected<void> (*)(const std::string&, PolicyFile&);
  constexpr std::pair<const char*, Read> kKeys[] = {
      {kDrawnFrom, read_drawn_from}, {kNormaliser, read_normaliser_text}, {kProvenance, read_provenance_text}};
  for (const auto& [key, read] : kKeys) {
    const auto node = metadata.extract(key);
    if (node.empty()) continue;
    if (auto done = read(node.mapped(), stored.policy); !done) return done;
  }
  stored.fingerprint = take(metadata, kWeights);
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(kOfEsper)) {
      return base::failure(
          fmt::format("metadata {} is not known to this program; a later version may have written "
                      "the file",
                      base::in_quotes(key)));
    }
  }
  stored.policy.metadata = std::move(metadata);
  return {};
}

// hashed: the file's metadata but for kContents, whose value is `contents`.
base::Expected<void> check_hashes(const StoredPolicy& stored, const TensorMetadata& hashed,
                                  const std::string& contents) {
  if (stored.policy.drawn_from && (contents.empty() || stored.fingerprint.empty())) {
    return base::failure(fmt::format("metadata {} or {} is missing, and tensors would be drawn", kContents, kWeights));
  }
  if (contents.empty() || contents == hash_of(stored.policy.weights, hashed)) return {};
  return base::failure(fmt::format("its contents are not those that were written: {} differs", kContents));
}

TensorMetadata metadata_of(const PolicyFile& policy, const Weights& stored) {
  TensorMetadata metadata = policy.metadata;
  if (policy.drawn_from) metadata[kDrawnFrom] = fmt::format("{}", *policy.drawn_from);
  metadata[kNormaliser] = base::json_line(normaliser_json(policy.normaliser));
  if (policy.provenance) metadata[kProvenance] = provenance_text(*policy.provenance);
  metadata[kWeights] = fingerprint(policy.weights);
  metadata[kContents] = hash_of(stored, metadata);
  return metadata;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

Weights to_store(const PolicyFile& policy) {
  if (!policy.drawn_from) return policy.weights;
  Weights stored = policy.weights;
  const Weights drawn = initial_weights(*policy.drawn_from);
  std::erase_if(stored, [&](const auto& named) {
    const auto found = drawn.find(named.first);
    return found != drawn.end() && same_bits(named.second, found->second);
  });
  return stored;
}

}  // namespace

base::Expected<StoredPolicy> read_stored_policy(storage::Bytes file) {
  auto parsed = storage::parse_safetensors(file);
  if (!parsed) return base::failure(parsed.error().problem);
  TensorMetadata metadata = std::move(parsed->metadata);
  const std::string contents = take(metadata, kContents);
  StoredPolicy stored;
  if (auto read = read_metadata(metadata, stored); !read) return base::failure(read.error());
  auto tensors = read_tensors(parsed->tensors, stored.policy.drawn_from ? Missing::kDrawn : Missing::kRefused);
  if (!tensors) return base::failure(tensors.error());
  stored.policy.weights = *std::move(tensors);
  if (auto checked = check_hashes(stored, metadata, contents); !checked) return base::failure(checked.error());
  return stored;
}

base::Expected<PolicyFile> complete(StoredPolicy stored) {
  PolicyFile policy = std::move(stored.policy);
  // map::merge keeps what is there.
  if (policy.drawn_from) policy.weights.merge(initial_weights(*policy.drawn_from));
  if (!stored.fingerprint.empty() && stored.fingerprint != fingerprint(policy.weights)) {
    return base::failure(
        fmt::format("the weights are not those that were written: {} differs; the file was "
                    "made by a version of Esper that draws weights differently",
                    kWeights));
  }
  return policy;
}

base::Expected<PolicyFile> load_policy(base::FileSystem& file_system, const std::string& path) {
  const auto in_file = [&path](const std::string& problem) {
    return base::failure(fmt::format("{}: {}", path, problem));
  };
  std::vector<std::byte> file;
  try {
    file = storage::read_file(file_system, path, kMaxPolicyBytes);
  } catch (const base::IoError& error) {
    if (error.error_number() != EFBIG) throw;
    return in_file(fmt::format("it is larger than {} bytes", kMaxPolicyBytes));
  }
  auto stored = read_stored_policy(file);
  if (!stored) return in_file(stored.error());
  auto policy = complete(*std::move(stored));
  if (!policy) return in_file(policy.error());
  return policy;
}

void write_policy(const PolicyFile& policy, const storage::ByteSink& sink) {
  const Weights stored = to_store(policy);
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : stored) {
    views.push_back({name, storage::Dtype::kF32, tensor.sizes().vec(), bytes_in(tensor)});
  }
  storage::write_safetensors(views, metadata_of(policy, stored), sink);
}

void save_policy(base::FileSystem& file_system, const std::string& path, const PolicyFile& policy) {
  storage::publish_file(file_system, path, [&](const storage::ByteSink& sink) { write_policy(policy, sink); });
}

}  // namespace esper::tamiyo
