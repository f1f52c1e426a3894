# cmake -D ROOT=... -D HEADER=... -P build_commit.cmake: writes the commit of ROOT's working tree, as it is now, into
# HEADER, and leaves HEADER untouched if that is what it says. A ROOT without a repository of its own has none.
cmake_minimum_required(VERSION 3.25)
set(commit "")
if(EXISTS ${ROOT}/.git)
  # Optional locks would disturb a git command that runs beside the build.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0
      git -C ${ROOT} describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#pragma once
#define ESPER_COMMIT \"${commit}\"
" @ONLY)
