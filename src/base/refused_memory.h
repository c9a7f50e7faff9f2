// What becomes of an allocation that the system refuses: with a limit on address space, say.
#pragma once

#include <chrono>

namespace tempo9 {

// From now on such an allocation (of operator new) is tried again for a while, since what others
// hold for a moment comes back; then std::bad_alloc is thrown, as ever. Once, before threads.
void wait_when_memory_is_refused(std::chrono::milliseconds how_long = std::chrono::seconds(2));

}  // namespace tempo9
