#pragma once
// How a seed's output joins the host's feature. Pure tensor functions; every scalar is a 0-dim tensor, nothing is read
// by the host, so one program serves all stages. Training thread.
//
// h: the host's feature. x: h as the seed sees it, equal to h in value. s: the seed's output. All of one shape:
// [batch, channels], [batch, channels, height, width] or [batch, tokens, channels]. a: alpha. g: a gate, 0..1.
//
//   ADD         h + a (s - x)         the gradient along h stays 1 while x is isolated, at alpha 1 too
//   CONVEX      h + a (s - h)         the gradient along h is 1 - a
//   RESIDUAL    h + a s               for modules that start at zero; one that starts neutral doubles h at alpha 1
//   MULTIPLY    h + a h tanh(s - x)
//   GATE        h + a g (s - h)       g learned, by sample and channel: learned_gate(); along h 1 - a g
//   CHANNEL     h + a g (s - h)       g learned, one number a channel: channel_gate(); along h 1 - a g
//   CONFIDENCE  h + a g (s - h)       g by sample, from s alone: confidence_gate(); along h 1 - a g
//
// At alpha 0 each is h + 0 * (...): the host's value exactly, as long as s is finite. At alpha 1 ADD and CONVEX are s,
// CHANNEL is s in the channels whose g is 1, as all are at birth; GATE and CONFIDENCE never quite leave h. Where s
// equals h, as at the birth of a seed that starts neutral, all but RESIDUAL are h at every alpha.
// The gradient into the seed is a (RESIDUAL, ADD, CONVEX), a h (1 - tanh^2) or a g; into a learned g it is a (s - h).

#include <torch/types.h>

#include "config/growth_config.h"
#include "kasmina/host/host.h"

namespace esper::kasmina {

// x.detach() + gate * (x - x.detach()): equal to x, with the gradient multiplied by gate: 0 is closed, 1 is open.
torch::Tensor scale_gradient(const torch::Tensor& x, const torch::Tensor& gate);

struct Features {
  torch::Tensor host;        // h
  torch::Tensor seed_input;  // x
  torch::Tensor seed;        // s
  torch::Tensor gate;        // g, of h's rank and batch, other dimensions 1 where constant; undefined if unused
};

// The amount added to h at alpha 1.
torch::Tensor full_change(config::Composition kind, const Features& features);

// h + alpha * full_change(features).
torch::Tensor compose(config::Composition kind, const Features& features, const torch::Tensor& alpha);

// Zero in value; its gradient reaches the seed as if alpha were 1, times `amount`, but never h or x directly: amount *
// (f - f.detach()) with f = full_change at h.detach(), x.detach().
torch::Tensor straight_through(config::Composition kind, const Features& features, const torch::Tensor& amount);

// True if the path along h loses gradient as alpha rises. Isolating the seed as well would then stop the blocks before
// the slot from learning.
bool fades(config::Composition kind);

// The gate of GATE, per channel: sigmoid(weight * pooled(x) + bias), weight and bias [channels]. Images are
// pooled over height and width; sequences keep their tokens, so no token sees a later one.
torch::Tensor learned_gate(FeatureKind kind, const torch::Tensor& x, const torch::Tensor& weight,
                           const torch::Tensor& bias);

// The gate of CHANNEL: weight, [channels], clamped to 0..1 in value. Its gradient ignores the clamp, so that a channel
// at either end can still move. `like`: the feature to which it applies.
torch::Tensor channel_gate(FeatureKind kind, const torch::Tensor& like, const torch::Tensor& weight);

// The gate of CONFIDENCE (reference 2.1), of each sample, and of each token of a sequence:
//   sigmoid(4 (top1 - top2 - 0.2)), top1 and top2 the largest two of softmax(pooled(s)) over the channels;
//   top2 is 0 where there is one channel. Images are pooled over height and width.
// The seed's confidence is its weight. It carries no gradient: a seed is not trained to look confident.
torch::Tensor confidence_gate(FeatureKind kind, const torch::Tensor& s);

}  // namespace esper::kasmina
