#pragma once
// The folded network for graphs up to some caps, with memory of its own for one of them. Runs the forward eagerly, or,
// once it was recorded, as a program: the same operations on the same memory, without the dispatcher's and the
// allocator's work between them. One thread at a time.

#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "program/package.h"
#include "program/program.h"
#include "program/recorder.h"
#include "program/replay/replay.h"
#include "tamiyo/network/dense_graph.h"
#include "tamiyo/network/folded_network.h"

namespace esper::tamiyo {

// Eager and replay have the same bits.
enum class NetworkForm { kEager, kReplay, kCompiled };
constexpr auto names(NetworkForm) {
  using F = NetworkForm;
  return std::array{std::pair{F::kEager, "eager"}, std::pair{F::kReplay, "replay"},
                    std::pair{F::kCompiled, "compiled"}};
}

class PaddedNetwork {
 public:
  // weights: outlive it.
  PaddedNetwork(const FoldedWeights& weights, const Caps& caps);
  PaddedNetwork(const PaddedNetwork&) = delete;
  PaddedNetwork& operator=(const PaddedNetwork&) = delete;

  // Fails where a relation has an edge twice. graph: one that check_graph() accepts and the caps fit. On a GPU it runs
  // on a stream of its own, beside the training, and waits for that stream alone.
  base::Expected<PolicyOutputs> run(const HeteroGraph& graph);

  // Of the last run, with the scores of padding.
  const at::Tensor& output() const { return output_; }

  NetworkForm form() const { return form_; }

  // From now on the program is replayed; fails with the reason if there is none, and the form stays. While nothing else
  // is recorded in this process: training thread.
  base::Expected<void> record();
  // What was recorded.
  const program::Program& program() const { return program_; }
  // From now on the program is replayed again.
  void replay();
  // From now on the package runs, which was compiled from program().
  void adopt(std::shared_ptr<const program::Package> package);

 private:
  std::vector<program::ExternalTensor> external_tensors() const;
  // Ends with the output on the host.
  void forward();

  const FoldedWeights& weights_;
  std::optional<c10::Stream> stream_;  // on a GPU
  DenseGraph graph_;
  at::Tensor output_, host_output_;  // host_output_: output_ itself on the CPU, else pinned memory
  program::Program program_;
  std::vector<at::Tensor> inputs_;  // parallel to the program's
  std::unique_ptr<program::Replay> replay_;
  NetworkForm form_ = NetworkForm::kEager;
  std::function<void()> forward_;
};

}  // namespace esper::tamiyo
