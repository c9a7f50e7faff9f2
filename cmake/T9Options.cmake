# Flags that every target of ours gets. They hang on one interface target, never on the directory.
option(T9_TESTS "Build the tests" ON)
option(T9_BENCH "Build the micro benchmarks" OFF)
option(T9_FUZZ "Build the fuzzers (or their replay programs)" OFF)
option(T9_WERROR "Treat warnings as errors" OFF)
set(T9_SANITIZE "" CACHE STRING "Comma-separated sanitizers, as -fsanitize= takes them")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(t9_options INTERFACE)
target_compile_options(t9_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -ffp-contract=off $<$<BOOL:${T9_WERROR}>:-Werror>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # With a room's code in one unit g++ 12 inlines more and sees unset variables that are not there; dev does warn.
  target_compile_options(t9_options INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(T9_SANITIZE)
  # The instrumentation makes g++ see overlaps and unset variables that are not there; the other presets do warn.
  target_compile_options(t9_options INTERFACE -fsanitize=${T9_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>)
  if(T9_SANITIZE MATCHES "undefined")
    # Address sanitizer finds what these three find, and they are a quarter of the time to build.
    target_compile_options(t9_options INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
  target_link_options(t9_options INTERFACE -fsanitize=${T9_SANITIZE})
endif()
