#pragma once
// A policy network's file: safetensors with the network's tensors under PyTorch Geometric's names. A file that its
// state_dict was saved to is read as it is; files of Esper also have metadata:
//
//   esper.drawn_from   a seed: tensors that the file lacks are those of initial_weights() with it
//   esper.normaliser   the figures that a run begins with, JSON (graph/normaliser.h); without it the priors
//   esper.provenance   JSON (provenance.h)
//   esper.weights      fingerprint() of all tensors, drawn ones included
//   esper.contents     hash of the file's own tensors and of all other metadata
//
// Any thread.

#include <cstdint>
#include <optional>
#include <string>

#include "base/expected.h"
#include "base/file_system.h"
#include "storage/bytes.h"
#include "storage/safetensors/safetensors.h"
#include "tamiyo/graph/normaliser.h"
#include "tamiyo/network/provenance.h"
#include "tamiyo/network/weights.h"

namespace esper::tamiyo {

inline constexpr std::uint64_t kMaxPolicyBytes = std::uint64_t{64} << 20;  // all tensors are 56 MB

struct PolicyFile {
  Weights weights;
  storage::TensorMetadata metadata = {};  // what is not of Esper, as written
  // Saving leaves out the tensors that have the bits of initial_weights() with this seed.
  std::optional<std::uint64_t> drawn_from = {};
  Normaliser normaliser = {};
  std::optional<Provenance> provenance = {};
};

// What the file itself holds, before anything is drawn.
struct StoredPolicy {
  PolicyFile policy;        // weights: those in the file
  std::string fingerprint;  // that all weights must have; empty: the file does not say
};

// Fails where the file is damaged, a tensor is unknown, of another type or shape, has a value that is not finite, or is
// missing and not drawn, metadata of Esper is none that it writes, or the contents are not those that were hashed;
// names the tensor or the key. What draws tensors must have both hashes.
base::Expected<StoredPolicy> read_stored_policy(storage::Bytes file);
// Draws what is missing. Fails where the fingerprint is another one.
base::Expected<PolicyFile> complete(StoredPolicy stored);

// Both, for the file at `path`; fails also where it is larger than kMaxPolicyBytes. Throws IoError if it cannot be
// read.
base::Expected<PolicyFile> load_policy(base::FileSystem& file_system, const std::string& path);

void write_policy(const PolicyFile& policy, const storage::ByteSink& sink);
// The same as a file; replaces what is at `path`, atomically.
void save_policy(base::FileSystem& file_system, const std::string& path, const PolicyFile& policy);

}  // namespace esper::tamiyo
