# esper_library(kasmina [TORCH] [HOT] [UNIT 5] [FOLDERS run .] SOURCES slot.cpp ... DEPS leyline device LIBS yaml-cpp)
# One call per folder of lib/. DEPS is the whole truth about layering: a dependency that is not below, or an #include of
# a folder that DEPS does not name, stops the configure step. TORCH adds libtorch and the shared precompiled header.
# FOLDERS are the sub-folders, lowest first, with "." for the room's own files: one may include those before it.
# A sub-folder with a CMakeLists.txt is a library of its own, with DEPS of its own: tamiyo/network is tamiyo_network.
#
# HOT and UNIT decide what a build costs (docs/decisions/0018-build-time.md):
# - HOT is for rooms with code that runs for each step, sample or byte: they are optimized as the build type says. All
#   others, the front and the tests are compiled with -O1.
# - UNIT is how many files are compiled at once. As many as leave a changed file rebuilt and linked in 15 s.
#   Names in anonymous namespaces must differ within a room for it.

set(ESPER_ROOMS base:0 leyline:1 storage:1 http:1 config:2 crypto:2 device:3 nissa:3 program:4 data:4 history:4 kasmina:5 tamiyo:5
  simic:5 sweep:5 runs:5 drill:5 jobs:6 step:6 tamiyo_network:6 porting:6 simic_imitation:7 lanes:7 tolaria:8)

option(ESPER_UNITY "Compile several files of a room at once; OFF compiles each by itself" ON)
set(ESPER_UNIT_FILES 0 CACHE STRING "Compile at least so many at once: for builds that nobody edits files in between")

add_library(esper_options INTERFACE)
# restrict: g++ 12 warns about "text" + std::string, wrongly (GCC bug 105651).
target_compile_options(esper_options INTERFACE -Wall -Wextra -Wshadow -Werror -Wno-restrict)
if(ESPER_UNITY)
  # In a unit g++ takes each file for a header, in which a type with members from an anonymous namespace would be an error.
  target_compile_options(esper_options INTERFACE -Wno-subobject-linkage)
endif()

function(esper_room_level room out)
  foreach(entry IN LISTS ESPER_ROOMS)
    if(entry MATCHES "^${room}:([0-9]+)$")
      set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${room} is not a room; the rooms are: ${ESPER_ROOMS}")
endfunction()

function(esper_check_layers room folder deps)
  esper_room_level(${room} level)
  foreach(dep IN LISTS deps)
    esper_room_level(${dep} dep_level)
    if(NOT dep_level LESS level)
      message(FATAL_ERROR "${room} (${level}) depends on ${dep} (${dep_level}), which is not below it")
    endif()
  endforeach()
  file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.h ${folder}/*.cpp ${folder}/*.cu)
  file(GLOB libraries_within RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*/CMakeLists.txt)
  foreach(file IN LISTS files)
    string(REGEX REPLACE "/.*" "/CMakeLists.txt" its_library "${file}")
    if(its_library IN_LIST libraries_within)
      continue()
    endif()
    file(STRINGS ${folder}/${file} lines REGEX "^#include \"[a-z_]+/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([a-z_]+)/.*" "\\1" used "${line}")
      if(NOT used STREQUAL room AND NOT used IN_LIST deps)
        message(FATAL_ERROR "${folder}/${file}: ${line}\n  ${room} may include: ${room} ${deps}")
      endif()
    endforeach()
  endforeach()
endfunction()

# The folder of a file of the room, "." for the room's own.
function(esper_folder_of file out)
  get_filename_component(folder "${file}" DIRECTORY)
  if(folder STREQUAL "")
    set(folder ".")
  endif()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

function(esper_check_folders room root folders)
  file(GLOB_RECURSE files RELATIVE ${root} CONFIGURE_DEPENDS ${root}/*.h ${root}/*.cpp)
  foreach(file IN LISTS files)
    esper_folder_of(${file} folder)
    list(FIND folders "${folder}" place)
    if(place EQUAL -1)
      message(FATAL_ERROR "${room}/${file}: FOLDERS of ${room} does not name ${folder}")
    endif()
    file(STRINGS ${root}/${file} lines REGEX "^#include \"${room}/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"${room}/(.*)\".*" "\\1" used "${line}")
      esper_folder_of(${used} used_folder)
      list(FIND folders "${used_folder}" used_place)
      if(used_place GREATER place)
        message(FATAL_ERROR "${room}/${file}: ${line}\n  ${used_folder} is not below ${folder} in ${room}: ${folders}")
      endif()
    endforeach()
  endforeach()
endfunction()

# For code that is not hot.
function(esper_not_hot target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
endfunction()

# esper_use_torch(TARGET PCH): the precompiled header is the one whose optimization the target has.
function(esper_use_torch target pch)
  target_link_libraries(${target} PUBLIC torch::cpu)
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# esper_units(TARGET FILES)
function(esper_units target files)
  if(ESPER_UNITY AND files)
    if(ESPER_UNIT_FILES GREATER files)
      set(files ${ESPER_UNIT_FILES})
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# The precompiled headers serve libraries and programs alike, so programs are compiled as libraries are: -fPIC, not -fPIE.
function(esper_program_with_pch target pch)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()

function(esper_library room)
  cmake_parse_arguments(ARG "TORCH;HOT" "UNIT" "FOLDERS;SOURCES;DEPS;LIBS" ${ARGN})
  esper_check_layers(${room} ${CMAKE_CURRENT_SOURCE_DIR} "${ARG_DEPS}")
  if(ARG_FOLDERS)
    esper_check_folders(${room} ${CMAKE_CURRENT_SOURCE_DIR} "${ARG_FOLDERS}")
  endif()
  add_library(esper_${room} STATIC ${ARG_SOURCES})
  add_library(esper::${room} ALIAS esper_${room})
  target_include_directories(esper_${room} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
  list(TRANSFORM ARG_DEPS PREPEND esper::)
  target_link_libraries(esper_${room} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE esper_options)
  esper_units(esper_${room} "${ARG_UNIT}")
  if(NOT ARG_HOT)
    esper_not_hot(esper_${room})
  endif()
  if(ARG_TORCH AND ARG_HOT)
    esper_use_torch(esper_${room} esper_hot_torch_pch)
  elseif(ARG_TORCH)
    esper_use_torch(esper_${room} esper_torch_pch)
  elseif(NOT ARG_HOT AND TARGET esper_plain_pch)
    target_precompile_headers(esper_${room} REUSE_FROM esper_plain_pch)
  endif()
endfunction()

# What the files of tests have in common.
function(esper_as_test target deps)
  list(TRANSFORM deps PREPEND esper::)
  target_link_libraries(${target} PRIVATE ${deps} esper_options)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE ESPER_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ESPER_BINARY_DIR="${PROJECT_BINARY_DIR}")
  esper_not_hot(${target})
endfunction()

# esper_test_support(run_support SOURCES ... DEPS leyline): what several programs of tests share, for their LIBS.
function(esper_test_support name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  esper_as_test(${name} "${ARG_DEPS}")
  target_link_libraries(${name} PRIVATE Catch2::Catch2)
  target_precompile_headers(${name} REUSE_FROM esper_plain_pch)
endfunction()

# esper_test_program(integration_run [TORCH] [UNIT 8] [SOURCES ...] DEPS base leyline [LIBS ...]): one Catch2 program.
# Each file has a namespace of its own, named after it: UNIT of them are compiled at once.
function(esper_test_program name)
  cmake_parse_arguments(ARG "TORCH" "UNIT" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  if(NOT ARG_UNIT)
    set(ARG_UNIT 8)
  endif()
  esper_units(${name} ${ARG_UNIT})
  esper_as_test(${name} "${ARG_DEPS}")
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} Catch2::Catch2WithMain)
  if(ARG_TORCH)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/torch_seed.cpp)
    target_link_libraries(${name} PRIVATE torch::cpu)
    esper_program_with_pch(${name} esper_torch_pch)
  else()
    esper_program_with_pch(${name} esper_plain_pch)
  endif()
endfunction()

# esper_test_entry(unit_kasmina PROGRAM LABEL [ARGUMENT...]): the ctest entry that runs the program so.
function(esper_test_entry name program label)
  add_test(NAME ${name} COMMAND ${program} ${ARGN} --min-duration 5)
  # Only what hangs takes so long: the slowest takes a tenth of it on an idle machine, and machines may be busy.
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 2400
    ENVIRONMENT "OMP_WAIT_POLICY=PASSIVE;ESPER_CACHE=${PROJECT_BINARY_DIR}/test-cache;XDG_STATE_HOME=${PROJECT_BINARY_DIR}/test-state")
  if(label STREQUAL gpu)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 4)  # Catch2's, where every test case was skipped
  endif()
endfunction()

# esper_test(unit_kasmina [TORCH] LABEL unit [UNIT 8] SOURCES ... DEPS kasmina leyline): one program, one ctest entry.
function(esper_test name)
  cmake_parse_arguments(ARG "" "LABEL" "" ${ARGN})
  esper_test_program(${name} ${ARG_UNPARSED_ARGUMENTS})
  esper_test_entry(${name} ${name} ${ARG_LABEL})
endfunction()

# esper_test_part(integration_run_fork integration_run LABEL integration SOURCES fork_test.cpp ...): adds files to a program, and a
# ctest entry for their cases alone. Cores share such entries, and what the files include is compiled for all of them at once.
function(esper_test_part name program)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES" ${ARGN})
  target_sources(${program} PRIVATE ${ARG_SOURCES})
  set(cases "")
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(file ${source} NAME_WE)
    string(APPEND cases "[#${file}],")
  endforeach()
  esper_test_entry(${name} ${program} ${ARG_LABEL} --filenames-as-tags ${cases} --warn UnmatchedTestSpec)
  add_custom_target(${name})  # built by the entry's name, too
  add_dependencies(${name} ${program})
endfunction()

# esper_bench(bench_step_overhead [TORCH] SOURCES ... DEPS tolaria): one program, optimized as the build type says, that
# checks its answer, then times it. Not part of the default run: ctest -L bench.
function(esper_bench name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND esper::)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} esper_options)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(ARG_TORCH)
    target_link_libraries(${name} PRIVATE torch::cpu)
    esper_program_with_pch(${name} esper_hot_torch_pch)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS bench TIMEOUT 600)
endfunction()
