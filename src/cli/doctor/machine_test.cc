#include "cli/doctor/machine.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing/temp_folder.h"

namespace tempo9::cli {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
const std::vector<engine::KernelTableReport> kOldMachine = {
    {"avx512", {"avx512f", "avx512vnni"}}, {"avx2", {}}, {"scalar", {}}};
const std::string kCpuinfo =
    "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu avx2 amx_int8\n\n";

TEST(DoctorMachine, SaysWhichKernelsAndWhyNotBetterOnes) {
  const Check check = check_cpu(kOldMachine, "", kCpuinfo);
  EXPECT_EQ(check.level, Level::kOk);
  EXPECT_EQ(check.found,
            "Some CPU @ 2 GHz; kernels avx2; not avx512, which needs avx512f, avx512vnni; amx_int8 "
            "is there, and no kernels use it yet");
  EXPECT_EQ(check.details["kernels"], "avx2");
  EXPECT_EQ(check.details["tables"][0]["missing"].size(), 2u);
}

TEST(DoctorMachine, ForcedKernels) {
  const Check slower = check_cpu(kOldMachine, "scalar", "");
  EXPECT_EQ(slower.level, Level::kWarn);
  EXPECT_NE(slower.expected.find("avx2"), std::string::npos);
  EXPECT_EQ(check_cpu(kOldMachine, "avx2", "").level, Level::kOk);
  for (const char* name : {"avx512", "neon"}) {
    const Check check = check_cpu(kOldMachine, name, "");
    EXPECT_EQ(check.level, Level::kFail) << name;
    EXPECT_NE(check.found.find(name), std::string::npos);
    EXPECT_EQ(check.expected, "one of avx2, scalar");
  }
}

TEST(DoctorMachine, ScalarAloneFails) {
  const Check check = check_cpu({{"avx2", {"avx2"}}, {"scalar", {}}}, "", "");
  EXPECT_EQ(check.level, Level::kFail);
  EXPECT_EQ(check.found, "kernels scalar; not avx2, which needs avx2");
  EXPECT_NE(check.expected.find("TEMPO9_CPU_ISA=scalar"), std::string::npos);
}

TEST(DoctorMachine, Threads) {
  const CpuCount quota{4, "cgroup quota: 4 of 16", ""};
  const Check check = check_threads(quota, 0);
  EXPECT_EQ(check.level, Level::kOk);
  EXPECT_EQ(check.found, "4 compute threads (cgroup quota: 4 of 16)");
  EXPECT_EQ(check_threads(quota, 3).level, Level::kOk);
  EXPECT_EQ(check_threads(quota, 5).level, Level::kWarn);
  EXPECT_EQ(check_threads(quota, 5).details["threads"], 5);
  EXPECT_EQ(check_threads({1, "cgroup quota: 0.5 of 16", "half a core"}, 0).level, Level::kWarn);
}

TEST(DoctorMachine, Memory) {
  const Check check = check_memory({64 * kGiB, 8 * kGiB, 6 * kGiB});
  EXPECT_EQ(check.level, Level::kOk);
  EXPECT_EQ(check.found,
            "6.0 GiB free of 8.0 GiB (control group's limit; the machine has 64.0 GiB)");
  EXPECT_EQ(check.details["available_bytes"], 6 * kGiB);
  EXPECT_EQ(check_memory({8 * kGiB, 8 * kGiB, kGiB / 2}).level, Level::kWarn);
}

TEST(DoctorMachine, GraphicsCardsAreNamed) {
  const TempFolder folder;
  EXPECT_EQ(check_gpu({folder.file("no"), folder.file("none")}).found, "none found");
  const auto make = [&](const std::string& name) {
    std::filesystem::create_directories(folder.file(name));
  };
  make("gpus/0000:01:00.0"), make("drm/card0/device"), make("drm/card0-DP-1");
  make("drm/card1/device"), make("drm/card2/device");
  folder.write("gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 7\n");
  folder.write("drm/card0/device/vendor", "0x10de\n");
  folder.write("drm/card1/device/vendor", "0x1002\n");
  folder.write("drm/card1/device/device", "0x744c\n");
  folder.write("drm/card2/device/vendor", "0x1234\n");
  const Check check = check_gpu({folder.file("gpus"), folder.file("drm")});
  EXPECT_EQ(check.level, Level::kOk);
  EXPECT_EQ(check.details["names"], nlohmann::json({"NVIDIA H200", "AMD 0x744c"}));
  EXPECT_NE(check.found.find("not used yet"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::cli
