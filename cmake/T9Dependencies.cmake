# Everything here is an installed Debian package (scripts/setup installs them): no network at configure time.
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)           # Asio and Beast, headers only
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
include(T9XGrammar)                 # from the source package that scripts/setup fetched
if(T9_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)  # the checks of tools/
  include(GoogleTest)
endif()
if(T9_BENCH)
  find_package(benchmark REQUIRED)
endif()
