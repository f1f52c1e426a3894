// `fuzz_READER --seeds=FOLDER` writes the seeds and ends: with them the fuzzer starts beyond the first checks.

#include <filesystem>

#include "fuzz/fuzzing.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kOption = "--seeds=";
  const std::string_view first = *count == 2 ? (*arguments)[1] : "";
  if (!first.starts_with(kOption)) return 0;
  const std::filesystem::path folder(first.substr(kOption.size()));
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const auto& seed : esper::fuzz::seeds())
    esper::fuzz::write_file(folder / ("seed-" + std::to_string(++number)), seed);
  std::exit(EXIT_SUCCESS);
}
