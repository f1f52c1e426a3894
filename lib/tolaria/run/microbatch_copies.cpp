#include "tolaria/run/microbatch_copies.h"

#include <utility>

namespace esper::tolaria {

using base::LedgerScope;
using base::Owner;
using step::Microbatch;

device::StagedCopy MicrobatchCopies::start(const std::vector<Microbatch>& host) {
  const LedgerScope copying(ledger_, Owner::kTransfer);
  tensors_.clear();
  for (const auto& each : host) tensors_.insert(tensors_.end(), {each.inputs, each.targets});
  return staging_.start(tensors_);
}

void MicrobatchCopies::take(device::StagedCopy copy, std::vector<Microbatch>& out) {
  const LedgerScope copying(ledger_, Owner::kTransfer);
  auto tensors = staging_.take(std::move(copy));
  out.clear();
  for (std::size_t i = 0; i < tensors.size(); i += 2) out.push_back({std::move(tensors[i]), std::move(tensors[i + 1])});
}

}  // namespace esper::tolaria
