#include "tolaria/state/validation_window.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tolaria/state/run_progress.h"

namespace esper::test::validation_window_test {

using tolaria::changes_of;
using tolaria::restore_tensors;
using tolaria::SampleFigures;
using tolaria::ValidationWindow;
using tolaria::window_tensors;
using tolaria::with_epoch;

namespace {

using Catch::Approx;

SampleFigures samples(std::vector<float> loss, std::vector<float> correct) {
  return {torch::tensor(loss), torch::tensor(correct)};
}

ValidationWindow three_epochs(int window) {
  ValidationWindow it;
  for (const auto& epoch : {samples({1, 3}, {0, 0}), samples({3, 3}, {1, 0}), samples({0, 3}, {1, 1})}) {
    it = with_epoch(it, epoch, window);
  }
  return it;
}

}  // namespace

TEST_CASE("what the last epochs changed is paired over the samples, with the swing of the epochs beside it") {
  const auto changes = changes_of(three_epochs(2), 2);
  REQUIRE(changes.size() == 2);
  // The samples changed by 0 - 2 and 3 - 3.
  CHECK(changes[0].after == 1);
  CHECK(changes[0].before == 2);
  CHECK(changes[0].loss == Approx(-1));
  CHECK(changes[0].loss_error->value == Approx(1));
  CHECK(changes[0].loss_error->degrees == 1);
  CHECK(changes[0].points == Approx(75));  // by 1 - 1/2 and 1 - 0
  CHECK(changes[0].points_error->value == Approx(25));
  CHECK(changes[0].loss_swing->value == Approx(std::sqrt(0.5 * 1.5)));  // the epochs' means are 2, 3 | 1.5
  CHECK(changes[0].loss_swing->degrees == 1);
  CHECK(changes[1].after == 2);
  CHECK(changes[1].before == 1);
  CHECK(changes[1].loss == Approx(0.25));
  CHECK(changes[1].loss_error->value == Approx(0.25));
  CHECK(changes[1].loss_swing->value == Approx(std::sqrt(1.125 * 1.5)));
}

TEST_CASE("one epoch changes nothing yet, and two have no swing") {
  ValidationWindow window;
  CHECK(changes_of(window, 5).empty());
  window = with_epoch(window, samples({1, 2}, {0, 0}), 5);
  CHECK(changes_of(window, 5).empty());
  window = with_epoch(window, samples({2, 2}, {0, 0}), 5);
  const auto changes = changes_of(window, 5);
  REQUIRE(changes.size() == 1);
  CHECK_FALSE(changes[0].loss_swing);
}

TEST_CASE("as many epochs are kept as two windows take, and a window that is very long counts as a shorter one") {
  for (const auto& [window, rows] : {std::pair{1, 2}, std::pair{3, 6}, std::pair{1000, 32}}) {
    ValidationWindow it;
    for (int epoch = 0; epoch < 40; ++epoch) {
      it = with_epoch(it, samples({static_cast<float>(epoch)}, {0}), window);
    }
    CHECK(it.epochs() == rows);
    CHECK(it.loss[rows - 1].item<float>() == 39);
    CHECK_FALSE(changes_of(it, window).front().loss_error);  // of one sample
  }
}

TEST_CASE("an epoch without figures empties the window, and other samples reset it") {
  auto window = three_epochs(3);
  CHECK(with_epoch(window, {}, 3).epochs() == 0);
  CHECK(with_epoch(window, samples({1, 2, 3}, {0, 0, 0}), 3).epochs() == 1);
}

TEST_CASE("a progress carries its tensors, and takes them back to the bit; a checkpoint of before has none") {
  tolaria::RunProgress progress, again;
  progress.window = three_epochs(2);
  REQUIRE(restore_tensors(again, progress_tensors(progress)));
  CHECK(again.window.loss.equal(progress.window.loss));
  CHECK(again.window.correct.equal(progress.window.correct));
  ValidationWindow none;
  REQUIRE(restore_tensors(none, {}));
  CHECK(none.epochs() == 0);
  auto broken = window_tensors(progress.window);
  broken.pop_back();
  CHECK_FALSE(restore_tensors(none, broken));
}

}  // namespace esper::test::validation_window_test
