# Compiler cache and third-party packages. Everything third-party is a SYSTEM include, so that our warnings stay ours.
# scripts/bootstrap leaves two links in .esper/: python (the private environment) and catch2 (where Debian's own is version 2).
find_program(ESPER_CCACHE ccache)
if(ESPER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${ESPER_CCACHE})
endif()

# g++ looks for what it can free each time its heap has doubled: a tenth to a sixth of its time in a unit of many files, for a fifth less
# memory, of which there is enough here (docs/decisions/0018-build-time.md).
cmake_host_system_information(RESULT memory_mb QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_of_each_core "${memory_mb} / ${cores}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND memory_of_each_core GREATER_EQUAL 3000)
  add_compile_options(--param=ggc-min-expand=400 --param=ggc-min-heapsize=2000000)
endif()

list(APPEND CMAKE_PREFIX_PATH ${PROJECT_SOURCE_DIR}/.esper/catch2/usr)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(fmt 9.1 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
# libtorch brings the headers of another fmt, without its library: on every path ours come first.
find_path(ESPER_FMT_INCLUDE fmt/core.h REQUIRED)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${ESPER_FMT_INCLUDE}/fmt ${PROJECT_BINARY_DIR}/include/fmt SYMBOLIC)
include_directories(BEFORE SYSTEM ${PROJECT_BINARY_DIR}/include)
if(ESPER_TESTS)
  find_package(Catch2 3 REQUIRED)
endif()
