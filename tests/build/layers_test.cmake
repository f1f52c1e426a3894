# Configures a small project of two rooms, once right and then once for each way to break the layers.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(WORK "${WORK}/a+b++ c")  # a checkout may lie anywhere

# one_case(NAME DEPS INCLUDE EXPECTED): nissa (level 3) with these DEPS, and a source that includes INCLUDE. EXPECTED is a
# regular expression of the message that must stop the configure step; empty where it must succeed.
function(one_case name deps include expected)
  set(house ${WORK}/house)
  file(WRITE ${house}/lib/storage/storage.h "#pragma once\n")
  file(WRITE ${house}/lib/storage/storage.cpp "#include \"storage/storage.h\"\n")
  file(WRITE ${house}/lib/tolaria/tolaria.cpp "int tolaria();\n")
  file(WRITE ${house}/lib/nissa/nissa.cpp "#include \"${include}\"\n")
  file(WRITE ${house}/lib/storage/CMakeLists.txt "esper_library(storage SOURCES storage.cpp)\n")
  file(WRITE ${house}/lib/tolaria/CMakeLists.txt "esper_library(tolaria SOURCES tolaria.cpp)\n")
  file(WRITE ${house}/lib/nissa/CMakeLists.txt "esper_library(nissa SOURCES nissa.cpp DEPS ${deps})\n")
  file(WRITE ${house}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(house LANGUAGES CXX)
include(\"${ESPER_SOURCE_DIR}/scripts/cmake/EsperTargets.cmake\")
foreach(room storage tolaria nissa)
  add_subdirectory(lib/\${room})
endforeach()\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -S ${house} -B ${WORK}/build
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 480)
  string(REGEX REPLACE "[ \n]+" " " said "${output}")
  if(expected STREQUAL "")
    if(NOT result EQUAL 0)
      message(SEND_ERROR "${name}: must configure, but failed:\n${output}")
    endif()
  elseif(result EQUAL 0 OR NOT said MATCHES "${expected}")
    message(SEND_ERROR "${name}: must stop with \"${expected}\", but status ${result}:\n${output}")
  endif()
  message("${name}: checked")
endfunction()

one_case("legal" "storage" "storage/storage.h" "")
one_case("upward dependency" "storage tolaria" "storage/storage.h" "nissa .3. depends on tolaria .8., which is not below it")
one_case("same level" "storage device" "storage/storage.h" "nissa .3. depends on device .3., which is not below it")
one_case("undeclared include" "storage" "tolaria/tolaria.h" "nissa\\.cpp: #include \"tolaria/tolaria\\.h\" nissa may include: nissa storage")
one_case("unknown room" "storage atlantis" "storage/storage.h" "atlantis is not a room")
one_case("legal again" "storage" "storage/storage.h" "")

# A sub-folder belongs to the room, until it is a library of its own.
file(WRITE ${WORK}/house/lib/nissa/inner/inner.cpp "#include \"storage/storage.h\"\n")
one_case("include in a sub-folder" "" "nissa/own.h" "inner\\.cpp: #include \"storage/storage\\.h\" nissa may include: nissa")
file(WRITE ${WORK}/house/lib/nissa/inner/CMakeLists.txt "esper_library(tamiyo_network SOURCES inner.cpp DEPS storage)\n")
one_case("library in a sub-folder" "" "nissa/own.h" "")
