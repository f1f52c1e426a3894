# esper_plain_pch: the precompiled header of everything that is neither hot nor sees torch. It holds what parses slowly and is
# included by most; what is instantiated slowly (CLI11) would cost each file that does not use it more than it saves the others.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/plain_pch.cpp CONTENT "// Carries the precompiled header that the torch-free targets share.\n")
add_library(esper_plain_pch OBJECT ${PROJECT_BINARY_DIR}/plain_pch.cpp)
target_link_libraries(esper_plain_pch PRIVATE fmt::fmt nlohmann_json::nlohmann_json esper_options)
esper_not_hot(esper_plain_pch)
target_precompile_headers(esper_plain_pch PRIVATE <algorithm> <chrono> <filesystem> <fmt/core.h> <functional> <map> <memory>
  <nlohmann/json.hpp> <optional> <set> <span> <string> <string_view> <variant> <vector>)
