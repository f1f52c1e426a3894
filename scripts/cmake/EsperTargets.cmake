# esper_library(kasmina [TORCH] SOURCES slot.cpp ... DEPS leyline device LIBS yaml-cpp)
# One call per folder of lib/. DEPS is the whole truth about layering: a dependency that is not below, or an #include of
# a folder that DEPS does not name, stops the configure step. TORCH adds libtorch and the shared precompiled header.

set(ESPER_ROOMS leyline:0 storage:1 device:1 nissa:2 program:2 data:2 kasmina:3 tamiyo:3 tolaria:4 simic:5)

add_library(esper_options INTERFACE)
# restrict: g++ 12 warns about "text" + std::string, wrongly (GCC bug 105651).
target_compile_options(esper_options INTERFACE -Wall -Wextra -Wshadow -Werror -Wno-restrict)

function(esper_room_level room out)
  foreach(entry IN LISTS ESPER_ROOMS)
    if(entry MATCHES "^${room}:([0-9]+)$")
      set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${room} is no room of the house; the rooms are: ${ESPER_ROOMS}")
endfunction()

function(esper_check_layers room folder deps)
  esper_room_level(${room} level)
  foreach(dep IN LISTS deps)
    esper_room_level(${dep} dep_level)
    if(NOT dep_level LESS level)
      message(FATAL_ERROR "${room} (${level}) depends on ${dep} (${dep_level}), which is not below it")
    endif()
  endforeach()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.h ${folder}/*.cpp ${folder}/*.cu)
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX "^#include \"[a-z_]+/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([a-z_]+)/.*" "\\1" used "${line}")
      if(NOT used STREQUAL room AND NOT used IN_LIST deps)
        message(FATAL_ERROR "${file}: ${line}\n  ${room} may include: ${room} ${deps}")
      endif()
    endforeach()
  endforeach()
endfunction()

function(esper_use_torch target)
  target_link_libraries(${target} PUBLIC torch::cpu)
  target_precompile_headers(${target} REUSE_FROM esper_torch_pch)
endfunction()

function(esper_library room)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS;LIBS" ${ARGN})
  esper_check_layers(${room} ${CMAKE_CURRENT_SOURCE_DIR} "${ARG_DEPS}")
  add_library(esper_${room} STATIC ${ARG_SOURCES})
  add_library(esper::${room} ALIAS esper_${room})
  target_include_directories(esper_${room} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
  list(TRANSFORM ARG_DEPS PREPEND esper::)
  target_link_libraries(esper_${room} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE esper_options)
  if(ARG_TORCH)
    esper_use_torch(esper_${room})
  endif()
endfunction()

# esper_test(unit_kasmina [TORCH] LABEL unit SOURCES ... DEPS kasmina leyline): one Catch2 program, one ctest entry.
function(esper_test name)
  cmake_parse_arguments(ARG "TORCH" "LABEL" "SOURCES;DEPS;LIBS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND esper::)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} Catch2::Catch2WithMain esper_options)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE ESPER_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ESPER_BINARY_DIR="${PROJECT_BINARY_DIR}")
  # What is tested is optimized in full; the tests themselves are compiled in two thirds of the time this way.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(ARG_TORCH)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/torch_seed.cpp)
    target_link_libraries(${name} PRIVATE torch::cpu)
    target_precompile_headers(${name} REUSE_FROM esper_torch_pch)
    # The precompiled header serves libraries and programs alike, so programs are compiled as libraries are: -fPIC, not -fPIE.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  # Only what hangs takes so long: the slowest takes a tenth of it on an idle machine, and machines may be busy.
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 2400
    ENVIRONMENT "OMP_WAIT_POLICY=PASSIVE;ESPER_CACHE=${PROJECT_BINARY_DIR}/test-cache;XDG_STATE_HOME=${PROJECT_BINARY_DIR}/test-state")
  if(ARG_LABEL STREQUAL gpu)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 4)  # Catch2's, where every test case was skipped
  endif()
endfunction()
