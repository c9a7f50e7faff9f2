# Everything here is an installed Debian package (scripts/setup installs them): no network at configure time.
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)           # Asio and Beast, headers only
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(SQLite3 REQUIRED)              # the index of KV pages on disk
find_package(OpenSSL 3 REQUIRED)            # HTTPS
find_package(CURL 7.85 REQUIRED)            # tempo9 pull
find_path(T9_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(T9_XXHASH_LIBRARY xxhash REQUIRED)
add_library(T9::xxhash UNKNOWN IMPORTED)
set_target_properties(T9::xxhash PROPERTIES IMPORTED_LOCATION ${T9_XXHASH_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${T9_XXHASH_INCLUDE})
# /metrics. The core library only: the package's own configuration also asks for an HTTP server and client.
find_path(T9_PROMETHEUS_INCLUDE prometheus/registry.h REQUIRED)
find_library(T9_PROMETHEUS_LIBRARY prometheus-cpp-core REQUIRED)
add_library(T9::prometheus UNKNOWN IMPORTED)
set_target_properties(T9::prometheus PROPERTIES IMPORTED_LOCATION ${T9_PROMETHEUS_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${T9_PROMETHEUS_INCLUDE})
include(T9XGrammar)                 # from the source package that scripts/setup fetched
if(T9_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)  # the checks of tools/
  include(GoogleTest)
endif()
if(T9_BENCH)
  find_package(benchmark REQUIRED)
endif()
