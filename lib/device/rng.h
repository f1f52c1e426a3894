#pragma once
// Random numbers: seeds by name, independent generators, and the default generators' states for checkpoints.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

namespace esper::device {

// A seed for the thing named `id` in the run seeded `run_seed`: mix64(mix64(run_seed) ^ fnv1a(id)), see base/hash.h.
// The same on every machine and for ever: initial values of old runs depend on it.
std::uint64_t derive_seed(std::uint64_t run_seed, std::string_view id);

// A CPU generator of the caller's own, so that its draws are independent of other code.
at::Generator make_generator(std::uint64_t seed);

// Seeds torch's default generators: the CPU's and, where the CUDA module is loaded, every GPU's.
void seed_all(std::uint64_t seed);

// States of the default generators as uint8 tensors on the CPU; `cuda` is that of the run's GPU, undefined on a CPU
// run.
struct RngState {
  at::Tensor cpu;
  at::Tensor cuda;
};
RngState rng_state(c10::Device device);

// Equal for equal positions of the CPU's default generator, different for different ones but by chance. Allocates
// nothing.
std::uint64_t cpu_generator_fingerprint();

// Puts the states back. Without `state.cuda` a GPU's generator stays as it is. Throws base::Error{kCheckpoint}
// where a state is none of this torch's.
void set_rng_state(c10::Device device, const RngState& state);

// At its end the generators are as they were at its beginning, or as in `state`. Throws as set_rng_state() then, but
// not while an exception unwinds: on a GPU that is lost that fails, and the exception says why.
class KeptRngState {
 public:
  explicit KeptRngState(c10::Device device) : KeptRngState(device, rng_state(device)) {}
  KeptRngState(c10::Device device, RngState state) : device_(device), state_(std::move(state)) {}
  ~KeptRngState() noexcept(false);
  KeptRngState(const KeptRngState&) = delete;
  KeptRngState& operator=(const KeptRngState&) = delete;

 private:
  const c10::Device device_;
  const RngState state_;
  const int unwinding_ = std::uncaught_exceptions();
};

}  // namespace esper::device
