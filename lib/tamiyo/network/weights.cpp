#include "tamiyo/network/weights.h"

#include "storage/checksum.h"

namespace esper::tamiyo {

std::string fingerprint(const Weights& weights) {
  storage::Hash64 hash;
  for (const auto& [name, tensor] : weights) {
    hash.update({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  return storage::hex64(hash.digest());
}

}  // namespace esper::tamiyo
