#include "esper/version.h"

#include <nlohmann/json.hpp>
#include <string>

#include "build_commit.h"
#include "esper/output.h"

namespace esper {

std::string build_commit() { return ESPER_COMMIT; }

std::string build_name() { return std::string(ESPER_VERSION) + " (commit " + ESPER_COMMIT + ")"; }

bool has_cuda_side() { return std::string(ESPER_CUDA_SIDE) == "ON"; }

int print_version(bool json) {
  const bool cuda = has_cuda_side();
  if (json) {
    print_json(nlohmann::ordered_json{{"version", ESPER_VERSION},
                                      {"commit", ESPER_COMMIT},
                                      {"compiler", ESPER_COMPILER},
                                      {"build_type", ESPER_BUILD_TYPE},
                                      {"libtorch", ESPER_LIBTORCH},
                                      {"cuda_side", cuda}});
    return 0;
  }
  print(std::string("esper ") + ESPER_VERSION + "\n" + "commit     " + ESPER_COMMIT + "\n" + "compiler   " +
        ESPER_COMPILER + "\n" + "build      " + ESPER_BUILD_TYPE + "\n" + "libtorch   " + ESPER_LIBTORCH + "\n" +
        "CUDA side  " + (cuda ? "built" : "not built") + "\n");
  return 0;
}

}  // namespace esper
