# The precompiled headers of everything that is neither hot nor sees torch, one for each optimization: esper_plain_pch for the
# rooms and the front, esper_test_plain_pch for tests. They hold what parses slowly and is included by most; what is instantiated
# slowly (CLI11) would cost each file that does not use it more than it saves the others.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/plain_pch.cpp CONTENT "// Carries the precompiled header that the torch-free targets share.\n")
foreach(pch esper_plain_pch esper_test_plain_pch)
  add_library(${pch} OBJECT ${PROJECT_BINARY_DIR}/plain_pch.cpp)
  target_link_libraries(${pch} PRIVATE fmt::fmt nlohmann_json::nlohmann_json esper_options)
  target_precompile_headers(${pch} PRIVATE <algorithm> <chrono> <filesystem> <fmt/core.h> <functional> <map> <memory>
    <nlohmann/json.hpp> <optional> <set> <span> <string> <string_view> <variant> <vector>)
endforeach()
esper_not_hot(esper_plain_pch)
esper_not_optimized(esper_test_plain_pch)
