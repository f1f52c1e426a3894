#pragma once
// A host that begins with the weights of a file (host.weights). Training thread.

#include <string>
#include <vector>

#include "kasmina/tensor/tensor_table.h"

namespace esper::kasmina {

// What the file and the host have in common, by the host's ids.
struct TakenWeights {
  std::vector<std::string> taken;
  std::vector<std::string> other_shape;   // "host.fc.weight [10, 512] and [1000, 512]": left as it was
  std::vector<std::string> only_in_host;  // left as they were
  std::vector<std::string> only_in_file;
};

// Writes the tensors of a safetensors file into those of the same names, "host.fc.weight" or "fc.weight", in place; the
// types may differ. Throws Error{kData} where the file cannot be read, or none of its tensors fits.
TakenWeights take_weights(const TensorTable& host, const std::string& path);

// One line a kind of difference, with the first few names; empty where there is none.
std::string differences(const TakenWeights& weights);

}  // namespace esper::kasmina
