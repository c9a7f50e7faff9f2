/* Preloaded into the server under test (LD_PRELOAD); tests/reliability/run.py compiles it.
 *
 * FAULT_ONE_IN=N, FAULT_MIN_BYTES=M: after SIGUSR2 one allocation of M bytes or more in N is refused, until the next SIGUSR2.
 * FAULT_CLOCK_SECONDS=S: the wall clock is wrong by up to S seconds either way, another number at each look.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static volatile sig_atomic_t armed;
static uint64_t one_in, min_bytes, clock_seconds;
static uint64_t seed = 88172645463325252ull;

static uint64_t number(void) { /* xorshift; a race only makes it more random */
  uint64_t x = seed;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return seed = x;
}

static int refused(size_t n) {
  if (!armed || n < min_bytes || number() % one_in != 0) return 0;
  errno = ENOMEM;
  return 1;
}

static void toggle(int signal) {
  (void)signal;
  armed = !armed;
}

static uint64_t setting(const char* name) {
  const char* text = getenv(name);
  return text ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void) {
  one_in = setting("FAULT_ONE_IN");
  min_bytes = setting("FAULT_MIN_BYTES");
  clock_seconds = setting("FAULT_CLOCK_SECONDS");
  if (one_in) signal(SIGUSR2, toggle);
}

void* malloc(size_t n) { return refused(n) ? NULL : __libc_malloc(n); }
void* calloc(size_t n, size_t each) { return refused(n * each) ? NULL : __libc_calloc(n, each); }
void* realloc(void* p, size_t n) { return refused(n) ? NULL : __libc_realloc(p, n); }
void* memalign(size_t align, size_t n) { return refused(n) ? NULL : __libc_memalign(align, n); }
void* aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void** out, size_t align, size_t n) {
  void* p = memalign(align, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  int result = (int)syscall(SYS_clock_gettime, clock, out);
  if (result == 0 && clock == CLOCK_REALTIME && clock_seconds)
    out->tv_sec += (int64_t)(number() % (2 * clock_seconds + 1)) - (int64_t)clock_seconds;
  return result;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval* out, void* zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec, out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
