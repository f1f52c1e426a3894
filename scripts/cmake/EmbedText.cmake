# esper_embed_text(TARGET NAME HEADER NAMESPACE CONSTANT FILE): HEADER, in the build folder, with the file's text as a
# std::string_view. Read again whenever the file changes.
function(esper_embed_text target header namespace constant file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded/${header})
  file(GENERATE OUTPUT ${out} CONTENT "#pragma once
#include <string_view>
namespace ${namespace} {
inline constexpr std::string_view ${constant} = R\"esper(${text})esper\";
}
")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()
