#pragma once
// A Python for ESPER_PYTHON that makes FOLDER, with the file `notes` in it, before it starts: as if a person had made
// it while a command works.

#include <filesystem>
#include <string>

#include "integration/lanes/python_with_torch.h"
#include "run_room.h"

namespace esper::test {

inline std::string python_that_makes(const std::string& folder, const RunRoom& room) {
  const auto path = room.write("meddling-python", "#!/bin/sh\n/bin/mkdir -p '" + folder + "'\necho mine > '" + folder +
                                                      "/notes'\nexec '" + python_path() + "' \"$@\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace esper::test
