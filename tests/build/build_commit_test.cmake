# cmake -D SCRIPT=.../build_commit.cmake -D WORK=... -P build_commit_test.cmake: the header says the commit of the tree as
# it is now, is written only where that changed, and says so where the tree has no repository of its own.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/tree)
set(header ${WORK}/generated/build_commit.h)

function(run_git)
  execute_process(COMMAND git -C ${WORK}/tree -c user.name=a -c user.email=a@b -c init.defaultBranch=main ${ARGN}
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET ERROR_QUIET)
endfunction()

function(expect pattern)
  execute_process(COMMAND ${CMAKE_COMMAND} -D ROOT=${WORK}/tree -D HEADER=${header} -P ${SCRIPT} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${header} text)
  if(NOT text MATCHES "#define ESPER_COMMIT \"${pattern}\"\n")
    message(FATAL_ERROR "wanted ${pattern}, found: ${text}")
  endif()
endfunction()

expect(unknown)
file(WRITE ${WORK}/tree/file "one")
run_git(init)
run_git(add file)
run_git(commit -m one)
expect("[0-9a-f]+")
execute_process(COMMAND touch -d 2001-01-01 ${header} COMMAND_ERROR_IS_FATAL ANY)
expect("[0-9a-f]+")
file(TIMESTAMP ${header} when "%Y" UTC)
if(NOT when STREQUAL "2001")
  message(FATAL_ERROR "the header was written again although nothing changed")
endif()
file(WRITE ${WORK}/tree/file "two")
expect("[0-9a-f]+-dirty")
