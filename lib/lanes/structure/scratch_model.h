#pragma once
// A model like the run's, in a structure that the run does not have: steps are tried on it without touching the run.
// Training thread.

#include <cstdint>
#include <functional>
#include <memory>

#include "config/growth_config.h"
#include "device/memory_figures.h"
#include "lanes/structure/forecast.h"
#include "step/model.h"

namespace esper::lanes {

// Builds a fresh model of the run's configuration.
using ModelFactory = std::function<std::unique_ptr<step::Model>()>;

// A model of the topology of `running`, with copies of its parameters, moments, buffers and scalars. Alphas and gates
// of growing seeds are set to 0.5, training gates to 1, so that a step exercises every path.
std::unique_ptr<step::Model> make_scratch_model(const ModelFactory& build, const step::Model& running);
// The same after a change; a new seed has its initial values. Throws base::Error if the change is not possible.
std::unique_ptr<step::Model> make_scratch_model_after(const LikelyChange& change, const ModelFactory& build,
                                                      const step::Model& running, const config::GrowthConfig& growth);

// Bytes available to a scratch model: free memory and the allocator's unused reserve.
std::uint64_t room_for_scratch_model(const device::MemoryFigures& memory);
// True if a scratch model and a step on it fit: they need at most the run's own peak memory.
bool has_room_for_scratch_model(const device::MemoryFigures& memory);

}  // namespace esper::lanes
