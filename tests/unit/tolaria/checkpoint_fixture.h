#pragma once
// Small images for tests of what becomes of checkpoints.

#include <torch/types.h>

#include <nlohmann/json.hpp>
#include <string>

#include "leyline/config/run_config.h"
#include "tolaria/checkpoint.h"

namespace esper::tolaria::test {

// One whose tensor says which epoch it is of.
inline CheckpointImage small_image(std::uint32_t epoch, const std::string& hash = "hash") {
  CheckpointImage image;
  image.info = {10 * std::int64_t{epoch}, epoch, hash};
  image.tensors = {{"w", at::full({64}, static_cast<double>(epoch), torch::kFloat32)}};
  image.run = {{"epoch", epoch}};
  return image;
}

inline leyline::CheckpointConfig keeping(int last, bool best) {
  leyline::CheckpointConfig config;
  config.keep_last = last;
  config.keep_best = best;
  return config;
}

}  // namespace esper::tolaria::test
