#include "base/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "base/memory_limit.h"
#include "base/testing/temp_folder.h"

namespace tempo9 {
namespace {

namespace fs = std::filesystem;

// A folder tree that stands for /sys/fs/cgroup and /proc/self/cgroup.
class FakeCgroup {
 public:
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(folder_.file(path)).parent_path());
    folder_.write(path, text + '\n');
  }
  CgroupPaths paths() const { return {folder_.path(), folder_.file("self")}; }

 private:
  TempFolder folder_;
};

uint32_t affinity() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

TEST(CpuCount, WithoutGroupsAffinityDecides) {
  FakeCgroup none;
  EXPECT_EQ(usable_cpus(none.paths()).n_cpus, affinity());
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const CpuCount count = usable_cpus(none.paths());
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(count.n_cpus, 1u);
  EXPECT_EQ(count.reason, "affinity: 1");
  EXPECT_EQ(count.warning, "");
}

TEST(CpuCount, QuotaOfVersion2AlsoFromAParent) {
  FakeCgroup group;
  group.write("self", "0::/a/b");
  group.write("a/b/cpu.max", "max 100000");
  group.write("a/cpu.max", "100000 100000");
  EXPECT_EQ(usable_cpus(group.paths()).n_cpus, 1u);
  group.write("a/cpu.max", "12800000 100000");
  EXPECT_EQ(usable_cpus(group.paths()).n_cpus, std::min(128u, affinity()));
  group.write("a/b/cpu.max", "50000 100000");  // half a processor is still one thread
  const CpuCount count = usable_cpus(group.paths());
  EXPECT_EQ(count.n_cpus, 1u);
  EXPECT_EQ(count.reason, "cgroup quota: 0.5 of " + std::to_string(affinity()));
  EXPECT_NE(count.warning.find("0.5 of a processor"), std::string::npos) << count.warning;
}

TEST(CpuCount, QuotaOfVersion1AndAContainerThatSeesItsGroupAsTheRoot) {
  FakeCgroup group;
  group.write("self", "3:cpu,cpuacct:/docker/x\n2:memory:/docker/x");
  group.write("cpu,cpuacct/cpu.cfs_quota_us", "100000");
  group.write("cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(usable_cpus(group.paths()).n_cpus, 1u);
  group.write("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(usable_cpus(group.paths()).n_cpus, affinity());
}

TEST(MemoryLimit, IsTheSmallerOfMachineAndGroup) {
  FakeCgroup group;
  const uint64_t machine = memory_limit(group.paths());
  EXPECT_GT(machine, 0u);
  group.write("self", "0::/a");
  group.write("a/memory.max", "max");
  EXPECT_EQ(memory_limit(group.paths()), machine);
  group.write("memory.max", "1048576");
  EXPECT_EQ(memory_limit(group.paths()), 1048576u);
}

TEST(MemoryLimit, WhatIsLeftOfAGroupDoesNotCountFilesThatCanGo) {
  FakeCgroup group;
  const uint64_t machine = available_memory(group.paths());
  EXPECT_GT(machine, 0u);
  EXPECT_LE(machine, memory_limit(group.paths()));
  group.write("self", "0::/a");
  group.write("a/memory.max", "1000000");
  group.write("a/memory.current", "700000");
  group.write("a/memory.stat", "anon 500000\ninactive_file 200000\nactive_file 0");
  EXPECT_EQ(available_memory(group.paths()), 500000u);
  group.write("a/memory.current", "2000000");
  EXPECT_EQ(available_memory(group.paths()), 0u);
}

}  // namespace
}  // namespace tempo9
