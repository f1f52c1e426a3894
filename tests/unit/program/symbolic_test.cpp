#include "program/symbolic.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>

#include "base/error.h"
#include "program/python_text.h"
#include "program/recorder.h"

namespace esper::test::symbolic_test {

using namespace esper;
using namespace esper::program;
using Catch::Matchers::ContainsSubstring;

namespace {

// A step over a batch of n samples of four numbers and one sum.
using Body = std::function<void(at::Tensor& sum, const at::Tensor& batch)>;

Program recorded(std::int64_t n, const Body& body) {
  const at::NoGradGuard no_grad;
  at::Tensor sum = at::zeros({4});
  const at::Tensor batch = at::randn({n, 4});
  const std::vector<ExternalTensor> external_tensors = {{"sum", sum}, {"batch", batch}};
  return record(external_tensors, [&] { body(sum, batch); }).value();
}

base::Expected<SymbolicProgram> compared(const Body& body, const std::vector<std::int64_t>& sizes) {
  std::vector<SizedRecording> recordings;
  for (const std::int64_t n : sizes) recordings.push_back({n, recorded(n, body)});
  return find_symbolic(recordings);
}

SymbolicProgram found(const Body& body, const std::vector<std::int64_t>& sizes) {
  auto symbolic = compared(body, sizes);
  if (!symbolic) FAIL(symbolic.error());
  return *symbolic;
}

std::string refusal(const Body& body, const std::vector<std::int64_t>& sizes = {8, 9, 11}) {
  const auto symbolic = compared(body, sizes);
  REQUIRE_FALSE(symbolic);
  return symbolic.error();
}

// Views, a strided intermediate, a mean: sizes, strides, whole and real arguments that follow n.
void mean_of_squares(at::Tensor& sum, const at::Tensor& batch) {
  const std::int64_t n = batch.size(0);
  const at::Tensor flat = batch.mul(batch).view({2 * n, 2});
  const at::Tensor turned = at::empty_strided({4, n}, {1, 4}, flat.options()).copy_(flat.view({n, 4}).t());
  sum.add_(turned.sum(1).mul(1.0 / static_cast<double>(3 * n)));
  sum.add_(at::full({4}, static_cast<double>(n)), 1);
}

}  // namespace

TEST_CASE("a program for all sizes is, at any of them, what would be recorded there") {
  const auto symbolic = found(mean_of_squares, {8, 9, 11});
  CHECK(symbolic.is_for_all_sizes());
  CHECK(symbolic.batch_inputs().size() == 1);
  for (const std::int64_t n : {2, 7, 64, 4096}) CHECK(symbolic.at(n) == recorded(n, mean_of_squares));
  CHECK(verify(symbolic.program));
}

TEST_CASE("whatever sizes it was found from, it is the same program with the same text") {
  const auto one = found(mean_of_squares, {8, 9, 11}), other = found(mean_of_squares, {100, 30, 5});
  CHECK(one == other);
  CHECK(save_symbolic(one) == save_symbolic(other));
  CHECK(save_symbolic(one) != save_program(one.program));
  CHECK(save_symbolic(one) != save_symbolic(SymbolicProgram(one.program)));
  CHECK(python_text(one) == python_text(other));
}

TEST_CASE("the text takes the size from the batch and says which sizes it is for") {
  const auto symbolic = found(mean_of_squares, {8, 9, 11});
  const std::string text = python_text(symbolic);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("SIZES = (2, 4096)"));
  CHECK_THAT(text, ContainsSubstring("n = a1.shape[0]"));
  CHECK_THAT(text, ContainsSubstring("[(2 * n + 0),2,]"));
  CHECK_THAT(text, ContainsSubstring("(1.0 / (3 * n + 0))"));
  CHECK_THAT(inputs_text(symbolic), ContainsSubstring("BATCH = [1,]"));
  CHECK_THAT(inputs_text(SymbolicProgram(symbolic.program)), !ContainsSubstring("SIZES"));
  CHECK_THAT(text, ContainsSubstring(inputs_text(symbolic)));
}

TEST_CASE("a size outside the range is not covered") {
  const auto symbolic = found(mean_of_squares, {8, 9, 11});
  CHECK(symbolic.covers(2));
  CHECK(symbolic.covers(4096));
  for (const std::int64_t n : {0, 1, 4097}) {
    CHECK_FALSE(symbolic.covers(n));
    CHECK_THROWS_AS(symbolic.at(n), base::Error);
  }
}

TEST_CASE("other operations at another size are a reason, with the operation's name") {
  const auto grows = [](at::Tensor& sum, const at::Tensor& batch) {
    sum.add_(batch.size(0) > 10 ? batch.sum(0) : batch.mean(0));
  };
  const std::string reason = refusal(grows);
  INFO(reason);
  CHECK_THAT(reason, ContainsSubstring("aten::sum.dim_IntList"));
  CHECK_THAT(reason, ContainsSubstring("aten::mean.dim"));
  CHECK_THAT(refusal([](at::Tensor& sum, const at::Tensor& batch) {
               sum.add_(batch.sum(0));
               if (batch.size(0) > 10) sum.mul_(2);
             }),
             ContainsSubstring("operations at batch sizes 8 and 11"));
}

TEST_CASE("a number that is on no line is a reason, though any two sizes are on one") {
  const auto square = [](at::Tensor& sum, const at::Tensor& batch) {
    const std::int64_t n = batch.size(0);
    sum.add_(at::zeros({n * n, 4}).sum(0)).add_(batch.sum(0));
  };
  const std::string reason = refusal(square);
  INFO(reason);
  CHECK_THAT(reason, ContainsSubstring("64 at 8, 81 at 9, 121 at 11"));
  const auto half = [](at::Tensor& sum, const at::Tensor& batch) {
    sum.add_(batch.narrow(0, 0, batch.size(0) / 2).sum(0)).add_(batch.sum(0));
  };
  CHECK_THAT(refusal(half, {8, 9, 11}), ContainsSubstring("does not follow the batch size"));
  CHECK_THAT(refusal(half, {8, 10, 11}), ContainsSubstring("does not follow the batch size"));
  const auto root = [](at::Tensor& sum, const at::Tensor& batch) {
    sum.add_(batch.sum(0).mul(std::sqrt(static_cast<double>(batch.size(0)))));
  };
  CHECK_THAT(refusal(root), ContainsSubstring("aten::mul"));
}

TEST_CASE("state whose shape depends on the batch size is a reason, and so is a step without a batch") {
  std::vector<SizedRecording> recordings;
  for (const std::int64_t n : {8, 9, 11}) {
    const at::NoGradGuard no_grad;
    at::Tensor state = at::zeros({4, n});
    const at::Tensor batch = at::randn({n, 4});
    const std::vector<ExternalTensor> external_tensors = {{"state", state}, {"batch", batch}};
    recordings.push_back({n, record(external_tensors, [&] { state.add_(batch.t()); }).value()});
  }
  const auto symbolic = find_symbolic(recordings);
  REQUIRE_FALSE(symbolic);
  CHECK_THAT(symbolic.error(), ContainsSubstring("input state"));
  CHECK_THAT(refusal([](at::Tensor& sum, const at::Tensor&) { sum.add_(1); }), ContainsSubstring("no input"));
}

TEST_CASE("two sizes are too few, and two equal ones no more than one") {
  CHECK_THROWS_AS(compared(mean_of_squares, {8, 9}), base::Error);
  CHECK_THROWS_AS(compared(mean_of_squares, {8, 9, 9}), base::Error);
}

}  // namespace esper::test::symbolic_test
