// T9_CHECK: for states that our own code makes impossible. Input never reaches one; it gets a
// Result.
#pragma once

namespace tempo9 {

// Called with what failed; must not return. The default prints to stderr and aborts. Not
// thread-safe: set at start.
using CheckHandler = void (*)(const char* file, int line, const char* expression);
void set_check_handler(CheckHandler handler);
[[noreturn]] void check_failed(const char* file, int line, const char* expression);

}  // namespace tempo9

#define T9_CHECK(condition) \
  ((condition) ? (void)0 : ::tempo9::check_failed(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#define T9_DCHECK(condition) ((void)0)
#else
#define T9_DCHECK(condition) T9_CHECK(condition)
#endif

#define T9_INLINE inline __attribute__((always_inline))

// For the few functions that device code shares, such as the codecs in quant/.
#ifdef __CUDACC__
#define T9_HOST_DEVICE __host__ __device__
#else
#define T9_HOST_DEVICE
#endif
