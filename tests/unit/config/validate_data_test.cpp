#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/config/problem_case.h"

namespace esper::test::validate_data_test {

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
           "f:1:57: data.test_fraction: splits off a second test part besides data.test_path; set one"},
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
      Case{"data: {kind: text, path: x, shape: [4]}\nhost: {kind: transformer}", "f:1:36: data.shape: text has no"},
      Case{"data: {kind: tokens, path: x, shape: [4]}\nhost: {kind: transformer}", "f:1:38: data.shape: text has no"},
      Case{"data: {kind: table, path: x, columns: {target: [a], features: [b, c], categorical: [c], missing: mean}}",
           ""},
      Case{"data: {kind: table, path: x, test_path: x}", "f:1:41: data.test_path: must differ from data.path; "},
      Case{"data: {kind: table, path: x, columns: {target: [a], features: [a]}}",
           "f:1:63: data.columns.features: \"a\" is a target as well"},
      Case{"data: {kind: table, path: x, columns: {features: [a], categorical: [b]}}",
           "f:1:68: data.columns.categorical: \"b\" is not one of data.columns.features"},
      Case{"data: {kind: csv, path: x, columns: {target: [a]}}",
           "f:1:46: data.columns.target: applies to data of kinds"},
      Case{"data: {kind: images, path: x, labels: p, columns: {target: [a]}}", ""},
      Case{"data: {kind: images, path: x, labels: p, columns: {features: [a]}}",
           "f:1:62: data.columns.features: applies"},
      Case{"data: {kind: csv, path: x, columns: {missing: zero}}", "f:1:47: data.columns.missing: applies"},
      Case{"data: {kind: npy, path: x, labels: p}", "f:1:36: data.labels: applies to data of kind images only"},
      Case{"data: {kind: csv, path: x, vocabulary: p}", "f:1:40: data.vocabulary: applies to data of kind tokens only"},
      Case{"data: {kind: csv, path: x, token_type: uint32}", "f:1:40: data.token_type: applies to data of kind tokens"},
      Case{"data: {kind: csv, path: x, command: [p]}", "f:1:37: data.command: applies to data of kind process only"},
      Case{"data: {kind: process, command: [p, z]}", ""},
      Case{"data: {kind: process}", "f:1:14: data.command: data of kind process needs a program"},
      Case{"data: {kind: process, command: [p], path: x}", "f:1:43: data.path: data of kind process come from"},
      Case{"data: {kind: process, command: [p], test_fraction: 0.1}",
           "f:1:52: data.test_fraction: with kind process the program"},
      Case{"data: {kind: process, command: [p], shape: [1, 4, 4]}",
           "f:1:44: data.shape: with kind process the program"},
      Case{"data: {kind: process, command: [p], augment: {flip: true}}", "f:1:53: data.augment.flip: samples of kind"});
  check_problem(c);
}

}  // namespace esper::test::validate_data_test
