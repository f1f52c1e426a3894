#pragma once
// Text of a language model, one token after another. Training thread.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "step/model.h"

namespace esper::tolaria {

// How the next token is drawn from the network's distribution.
struct TokenSampling {
  std::int64_t tokens = 200;  // how many are drawn
  double temperature = 1;     // logits are divided by it; 0: always the likeliest token
  std::int64_t top_k = 0;     // only among so many of the likeliest; 0: among all
  std::uint64_t seed = 0;
};

// logits: of the next token, not empty. uniform: from 0 to below 1. A tie goes to the lower token.
std::int64_t draw_token(std::span<const float> logits, const TokenSampling& sampling, double uniform);

// The tokens that follow `prompt` (not empty): of the data's vocabulary, each drawn from at most shape.context tokens
// before it. The same for the same network, prompt and sampling on one machine.
std::vector<std::int64_t> generate(const step::Model& model, std::vector<std::int64_t> prompt,
                                   const leyline::SampleShape& shape, torch::Device device,
                                   const TokenSampling& sampling,
                                   const std::function<void(std::int64_t done)>& progress = {});

}  // namespace esper::tolaria
