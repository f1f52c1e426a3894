#pragma once
// The folded network's large products in bf16, with sums in fp32, where there are instructions for them. On the CPU
// (AVX-512 BF16, AMX) half as many bytes of weights are read, and oneDNN keeps them in the order in which it reads
// them; on a GPU it is autocast. Any thread.

#include "tamiyo/network/folded_weights.h"

namespace esper::tamiyo {

// False on processors without such instructions, and on GPUs before compute capability 8.
bool has_bf16_products(c10::Device device);

// The same weights for products in bf16; on the CPU with the layers' matrices in it, half the memory. For run_folded(),
// eagerly: oneDNN's order of the numbers is not a strided tensor's, so this form is neither recorded nor compiled.
// has_bf16_products() of their device is true.
FoldedWeights in_bf16(FoldedWeights weights);

// Whether products take what oneDNN packed.
bool is_packed(const FoldedWeights& weights);

// matrix: [rows, nodes]; x: [nodes, width before]; the rows of the layer's targets, [rows, width before], in the type
// of the layer's products.
at::Tensor aggregate(const at::Tensor& matrix, const at::Tensor& x, const FoldedLayer& layer);

// rows: [nodes, FoldedTarget::inputs]; [nodes, width after], fp32.
at::Tensor product(const at::Tensor& rows, const FoldedTarget& target);

}  // namespace esper::tamiyo
