#pragma once
// One program for every batch size: a program in which some numbers are expressions of the batch size n. Found by
// comparing recordings of the same step at several sizes. Plain data; any thread.

#include <compare>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "program/program.h"

namespace esper::program {

// factor * n + offset, or its reciprocal as a double.
struct SizeExpression {
  enum class Form { kWhole, kReciprocal };
  Form form = Form::kWhole;
  std::int64_t factor = 0, offset = 0;
  bool operator==(const SizeExpression&) const = default;

  std::int64_t whole_at(std::int64_t n) const { return factor * n + offset; }
  double real_at(std::int64_t n) const;
};

// Where in a program a number stands.
struct NumberPlace {
  enum class Part {
    kInputName,  // the number that ends a name: "inverse.64"
    kSize,
    kStride,
    kArgument,
  };
  Part part = Part::kSize;
  std::size_t at = 0;        // index into inputs, values or operations
  std::size_t argument = 0;  // kArgument: which; else 0
  std::size_t element = 0;   // of sizes, strides or a list; 0 where the argument is one number
  auto operator<=>(const NumberPlace&) const = default;
};

// A program for the batch sizes from least to most; without expressions it is the one program for the one size.
struct SymbolicProgram {
  // 1 is left out: torch broadcasts it. The upper end is what indices of CUDA kernels are dimensioned for.
  static constexpr std::int64_t kLeast = 2, kMost = 4096;
  // The compiler chooses its loops for this size. No dimension of a network is likely to be the same, which a compiler
  // could take for more than chance.
  static constexpr std::int64_t kTypical = 61;

  SymbolicProgram() = default;
  SymbolicProgram(Program only) : program(std::move(only)) {}  // NOLINT(google-explicit-constructor): it is one

  Program program;  // with expressions: at size kTypical
  std::map<NumberPlace, SizeExpression> expressions;
  bool operator==(const SymbolicProgram&) const = default;

  bool is_for_all_sizes() const { return !expressions.empty(); }
  bool covers(std::int64_t n) const { return !is_for_all_sizes() || (n >= kLeast && n <= kMost); }
  // As if the step had been recorded at that size, which has to be covered.
  Program at(std::int64_t n) const;
  // Inputs whose first dimension is n.
  std::vector<std::size_t> batch_inputs() const;
};

// A step as it was recorded with a batch of n samples.
struct SizedRecording {
  std::int64_t n = 0;
  Program program;
};

// The program of which all recordings are instances; or why there is none: other operations at another size, a number
// that is no multiple of n plus a constant (nor the reciprocal of one), state whose shape depends on n. At least three
// recordings of different sizes: through two any numbers make a line.
base::Expected<SymbolicProgram> find_symbolic(const std::vector<SizedRecording>& recordings);

// Lossless. That of a program without expressions is save_program().
std::string save_symbolic(const SymbolicProgram& program);

}  // namespace esper::program
