#pragma once
// Small images for tests of what becomes of checkpoints.

#include <torch/types.h>

#include <nlohmann/json.hpp>
#include <string>

#include "config/run_config.h"
#include "tolaria/checkpoint/checkpoint.h"

namespace esper::test {

// One whose tensor says which epoch it is of.
inline tolaria::CheckpointImage small_image(std::uint32_t epoch, const std::string& hash = "hash") {
  tolaria::CheckpointImage image;
  image.info = {10 * std::int64_t{epoch}, epoch, hash};
  image.tensors = {{"w", at::full({64}, static_cast<double>(epoch), torch::kFloat32)}};
  image.run = {{"epoch", epoch}};
  return image;
}

inline config::CheckpointConfig keeping(int last, bool best) {
  config::CheckpointConfig config;
  config.keep_last = last;
  config.keep_best = best;
  return config;
}

}  // namespace esper::test
