#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/config/problem_case.h"

using Case = esper::test::ProblemCase;
using esper::test::check_problem;

TEST_CASE("rules between the fields of data") {
  const Case c = GENERATE(
      Case{"data: {kind: csv}",
           "f:1:14: data.path: data of kind csv needs a path; set data.path to the file or folder"},
      Case{"data: {kind: csv, path: x.csv}", ""},
      Case{"data: {kind: synthetic, path: x}", "f:1:31: data.path: data of kind synthetic"},
      Case{"data: {kind: synthetic, validation_path: x}", "f:1:42: data.validation_path"},
      Case{"data: {kind: synthetic, test_path: x}", "f:1:36: data.test_path: data of kind synthetic"},
      Case{"data: {kind: synthetic, test_fraction: 0.2}", ""},
      Case{"data: {kind: csv, path: x, test_path: x}", "f:1:39: data.test_path: must differ from data.path; "},
      Case{"data: {kind: csv, path: x, validation_path: z, test_path: z}",
           "f:1:59: data.test_path: must differ from data.validation_path; "},
      Case{"data: {kind: mnist, path: x, test_path: x}", ""},
      Case{"data: {kind: csv, path: x, test_path: z, test_fraction: 0.1}",
           "f:1:57: data.test_fraction: splits off a second test part beside data.test_path; set one"},
      Case{"data: {validation_fraction: 0.6, test_fraction: 0.4}",
           "f:1:49: data.test_fraction: 0.4 and data.validation_fraction, 0.6, leave no samples for training; lower"},
      Case{"data: {validation_fraction: 0.7, test_fraction: 0.3}", "f:1:49: data.test_fraction"},
      Case{"data: {validation_fraction: 0.5, test_fraction: 0.4}", ""},
      Case{"data: {kind: csv, path: x, validation_path: z, validation_fraction: 0.9, test_fraction: 0.4}", ""},
      Case{"data: {kind: synthetic, shape: [4, 5]}", "f:1:32: data.shape: its sizes must multiply"},
      Case{"data: {kind: synthetic, shape: [1, 4, 4]}\nhost: {kind: cnn}", ""},
      Case{"data: {kind: csv, path: x, augment: {flip: true}}", "f:1:44: data.augment.flip: only images"},
      Case{"data: {kind: csv, path: x, shape: [1, 8, 8], augment: {flip: true}}", ""},
      Case{"data: {kind: csv, path: x, image_size: 8}", "f:1:40: data.image_size: only images"},
      Case{"data: {kind: text, path: x, shape: [4]}\nhost: {kind: transformer}", "f:1:36: data.shape: text has no"});
  check_problem(c);
}
