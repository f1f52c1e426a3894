#pragma once
// Trains the policy network on a teacher's decisions. Training thread.
//
// Trained are the encoders, the heads, and of the layers between them biases, attention vectors and edge projections:
// 200,000 numbers of 14 million. The large matrices stay as they were drawn, so a policy's file holds what was learned
// and the seed of the rest (tamiyo/network/policy_file.h): docs/decisions/0026-small-policy-files.md has the reasons.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "simic/imitation/lesson.h"
#include "tamiyo/network/weights.h"

namespace esper::simic {

struct ImitationSettings {
  int epochs = 40;
  std::uint64_t seed = 0;       // of the drawn weights and of the lessons' order
  double learning_rate = 3e-3;  // of AdamW at the start; it falls to 0 as a cosine
  int batch = 64;
  double clip_norm = 1;
};

struct ImitationProgress {
  int epoch = 0;                           // done, from 1
  double loss = 0;                         // mean over the epoch's batches
  std::map<std::string, double> held_out;  // agreement after it; empty without lessons to measure on
};

struct Imitated {
  tamiyo::Weights weights;
  int epoch = 0;  // after which they were taken, from 1
};

// Whether a tensor of this name is learned.
bool is_learned(const std::string& name);

// Of all epochs, the weights with the least held-out loss; without held-out lessons those of the last epoch. The same
// lessons, settings and threads give the same bits. report: after each epoch. training: not empty; their graphs are
// ones that check_graph() accepts.
Imitated imitate(std::span<const Lesson* const> training, std::span<const Lesson* const> held_out,
                 const ImitationSettings& settings, const std::function<void(const ImitationProgress&)>& report);

}  // namespace esper::simic
