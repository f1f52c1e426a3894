#pragma once
// Inputs to compare an exported network on: as the data have them, and as the network takes them. Training thread.

#include <torch/types.h>

#include <string>

#include "data/preprocessing.h"

namespace esper::porting {

struct Example {
  torch::Tensor inputs;  // of the network: [rows, ...]
  torch::Tensor raw;     // numbers or pixels before they are prepared; undefined for sequences
  // Of sequences: the first input as a prompt is written (data/text_tokens.h), characters or numbers of tokens.
  std::string text;
};

// Drawn at random around what the data hold, the same every time.
Example make_example(const data::Preprocessing& preprocessing, std::int64_t rows);

}  // namespace esper::porting
