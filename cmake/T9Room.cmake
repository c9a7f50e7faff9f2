# t9_room(<name> [THREADS] [DEPS room...] [LIBS target...] [EXCLUDE dir...] [LABELS label...])
#
# The whole build of a room: every *.cc under src/<name>/ is in the library t9_<name>, every *_test.cc in the test
# program <name>_test. EXCLUDE names sub-folders that build by other rules (cpu/ uses it for its instruction sets).
# THREADS: it has threads of its own, or is called by several; thread sanitizer has nothing to find in the others' tests.
# tools/check_rooms.py reads the same lines and checks that #includes follow DEPS (dependencies of dependencies count).
function(t9_room name)
  cmake_parse_arguments(ROOM "THREADS" "" "DEPS;LIBS;EXCLUDE;LABELS" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  foreach(sub ${ROOM_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "/${name}/${sub}/")
  endforeach()
  list(TRANSFORM ROOM_DEPS PREPEND t9_)
  if(sources)
    add_library(t9_${name} STATIC ${sources})
    target_link_libraries(t9_${name} PUBLIC t9_options ${ROOM_DEPS} ${ROOM_LIBS})
    target_include_directories(t9_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  else()
    add_library(t9_${name} INTERFACE)
    target_link_libraries(t9_${name} INTERFACE t9_options ${ROOM_DEPS} ${ROOM_LIBS})
    target_include_directories(t9_${name} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  if(T9_TESTS AND tests AND (ROOM_THREADS OR NOT T9_SANITIZE MATCHES "thread"))
    t9_test(${name}_test ${tests} LIBS t9_${name} LABELS ${ROOM_LABELS})
  endif()
endfunction()

# t9_test(<target> <source>... [LIBS target...] [LABELS label...]): one GoogleTest program, its cases known to CTest.
function(t9_test target)
  cmake_parse_arguments(TEST "" "" "LIBS;LABELS" ${ARGN})
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  add_executable(${target} ${TEST_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE ${TEST_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  # What is tested is optimised; the tests themselves are half the time to build and run briefly.
  if(T9_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
  target_compile_definitions(${target} PRIVATE
    T9_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${TEST_LABELS}")
endfunction()
