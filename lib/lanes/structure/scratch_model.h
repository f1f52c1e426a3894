#pragma once
// A model like the run's, in a structure that the run does not have: a step is tried on it without touching the run.
// Training thread.

#include <cstdint>
#include <functional>
#include <memory>

#include "config/growth_config.h"
#include "device/memory_figures.h"
#include "lanes/structure/forecast.h"
#include "step/model.h"

namespace esper::lanes {

// A fresh model of the run's configuration.
using ModelFactory = std::function<std::unique_ptr<step::Model>()>;

// A model of the topology of `running`, with copies of its parameters, moments, buffers and scalars. Growing seeds are
// half blended in and half open, so that a step goes every way there is.
std::unique_ptr<step::Model> make_scratch_model(const ModelFactory& build, const step::Model& running);
// The same after a change; a newborn has its start values. Throws base::Error where the change cannot be.
std::unique_ptr<step::Model> make_scratch_model_after(const LikelyChange& change, const ModelFactory& build,
                                                      const step::Model& running, const config::GrowthConfig& growth);

// Bytes that a scratch model could have: what is free, and what the allocator keeps unused.
std::uint64_t room_for_scratch_model(const device::MemoryFigures& memory);
// A scratch model and a step on it take at most what the run itself has ever taken.
bool has_room_for_scratch_model(const device::MemoryFigures& memory);

}  // namespace esper::lanes
