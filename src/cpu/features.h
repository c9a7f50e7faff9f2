// What this processor and operating system can run.
#pragma once

namespace tempo9::cpu {

struct Features {
  bool avx2 = false;         // AVX2, FMA and F16C
  bool avx512_vnni = false;  // AVX-512 F, BW, VL, DQ and VNNI
};

// Asks the processor, and XCR0 for the system's leave to use the wide registers.
Features detect_features();

}  // namespace tempo9::cpu
