#include "program/replay/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace esper::program {
namespace {

std::int64_t aligned(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool meet(const Piece& a, const Piece& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

std::int64_t place(std::vector<Piece>& pieces, std::int64_t alignment) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  std::vector<const Piece*> placed;  // by offset
  std::int64_t size = 0;
  for (const std::size_t index : order) {
    Piece& piece = pieces[index];
    std::int64_t offset = 0;
    for (const Piece* other : placed) {
      if (!meet(piece, *other)) continue;
      if (offset + piece.bytes <= other->offset) break;
      offset = std::max(offset, aligned(other->offset + other->bytes, alignment));
    }
    piece.offset = offset;
    size = std::max(size, offset + aligned(piece.bytes, alignment));
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Piece::offset), &piece);
  }
  return size;
}

}  // namespace esper::program
