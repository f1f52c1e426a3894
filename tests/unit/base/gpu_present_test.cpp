#include "base/gpu_present.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "base/scratch_folder.h"

namespace esper::test::gpu_present_test {

TEST_CASE("a GPU is present where the driver made its device files") {
  const base::ScratchFolder root("esper-gpu-present");
  std::filesystem::create_directories(root.path() + "/dev");
  CHECK_FALSE(base::gpu_present(root.path()));
  std::ofstream(root.path() + "/dev/nvidiactl") << "";
  CHECK(base::gpu_present(root.path()));
}

}  // namespace esper::test::gpu_present_test
