#include "cli/doctor/machine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/cgroup.h"
#include "cli/show_text.h"

namespace tempo9::cli {
namespace {

// Below this nothing that is worth serving fits beside the working set.
constexpr uint64_t kLittleMemory = uint64_t{1} << 30;
// Of the processor, and no table uses them yet.
constexpr const char* kUnusedFeatures[] = {"amx_int8", "avx512_bf16"};

// Of the first processor: "model name", "flags".
std::string cpuinfo_field(const std::string& cpuinfo, const std::string& name) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with(name) && colon != std::string::npos && colon + 2 <= line.size()) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

std::vector<std::string> unused_features(const std::string& flags) {
  std::vector<std::string> unused;
  for (const char* name : kUnusedFeatures) {
    if (fmt::format(" {} ", flags).find(fmt::format(" {} ", name)) != std::string::npos) {
      unused.emplace_back(name);
    }
  }
  return unused;
}

std::vector<std::string> nvidia_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::istringstream lines(read_small_file((entry->path() / "information").string()));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("Model:")) continue;
      const size_t begin = line.find_first_not_of(" \t", std::string("Model:").size());
      if (begin != std::string::npos) names.push_back(line.substr(begin));
    }
  }
  return names;
}

// Cards as the kernel has them: "AMD 0x744c". Screens of virtual machines are none.
std::vector<std::string> card_names(const std::string& folder, bool has_nvidia_names) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string card = entry->path().filename().string();
    if (!card.starts_with("card") || card.find('-') != std::string::npos) continue;
    const std::string device = (entry->path() / "device").string();
    const std::string vendor = read_small_file(device + "/vendor");
    const char* maker = vendor == "0x10de" && !has_nvidia_names ? "NVIDIA"
                        : vendor == "0x1002"                    ? "AMD"
                        : vendor == "0x8086"                    ? "Intel"
                                                                : nullptr;
    if (maker != nullptr) {
      names.push_back(fmt::format("{} {}", maker, read_small_file(device + "/device")));
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Check check_cpu(const std::vector<engine::KernelTableReport>& tables, const std::string& forced,
                const std::string& cpuinfo) {
  Check check{.name = "cpu"};
  const std::string model = cpuinfo_field(cpuinfo, "model name");
  const auto runs = [](const engine::KernelTableReport& table) { return table.missing.empty(); };
  const auto best = std::ranges::find_if(tables, runs);  // scalar needs nothing
  auto chosen = best;
  if (!forced.empty()) {
    chosen = std::ranges::find(tables, forced, &engine::KernelTableReport::name);
  }
  const bool can_run = chosen != tables.end() && runs(*chosen);
  if (!model.empty()) check.found = fmt::format("{}; ", model);
  check.found += can_run ? fmt::format("kernels {}", chosen->name)
                         : fmt::format("kernels {} (TEMPO9_CPU_ISA) do not run here", forced);
  auto listed = nlohmann::ordered_json::array();
  std::vector<std::string> names;
  bool is_better = can_run;
  for (const auto& table : tables) {
    listed.push_back({{"name", table.name}, {"missing", table.missing}});
    if (runs(table)) names.push_back(table.name);
    is_better = is_better && table.name != chosen->name;
    if (is_better && !runs(table)) {
      check.found +=
          fmt::format("; not {}, which needs {}", table.name, fmt::join(table.missing, ", "));
    }
  }
  const auto unused = unused_features(cpuinfo_field(cpuinfo, "flags"));
  if (!unused.empty()) {
    check.found += fmt::format("; {} is there, and no kernels use it yet", fmt::join(unused, ", "));
  }
  check.details = {{"model", model},
                   {"kernels", can_run ? chosen->name : ""},
                   {"tables", listed},
                   {"unused_features", unused},
                   {"amx_share_of_weights", 0}};
  if (!can_run) {
    check.level = Level::kFail;
    check.expected = fmt::format("one of {}", fmt::join(names, ", "));
    check.advice = "unset TEMPO9_CPU_ISA";
  } else if (chosen != best) {
    check.level = Level::kWarn;
    check.expected = fmt::format("{}, the best that this machine runs", best->name);
    check.advice = "unset TEMPO9_CPU_ISA";
  } else if (chosen->name == "scalar") {
    check.level = Level::kFail;  // as serve does
    check.expected =
        "AVX2, FMA and F16C; without them only TEMPO9_CPU_ISA=scalar runs, very slowly";
    check.advice = "use another machine; in a virtual one, let the guest see the host's processor";
  }
  return check;
}

Check check_threads(const CpuCount& usable, uint32_t asked) {
  Check check{.name = "threads"};
  const uint32_t n = asked > 0 ? asked : usable.n_cpus;
  check.found = fmt::format("{} compute {} ({})", n, n == 1 ? "thread" : "threads", usable.reason);
  check.details = {{"threads", n}, {"usable", usable.n_cpus}, {"reason", usable.reason}};
  if (!usable.warning.empty()) {
    check.level = Level::kWarn;
    check.expected = "a whole processor or more";
    check.advice = "raise the control group's quota (docker --cpus, systemd CPUQuota)";
  }
  if (asked > usable.n_cpus) {
    check.level = Level::kWarn;
    check.expected = fmt::format("at most {}: more wait for each other", usable.n_cpus);
    check.advice = "leave --threads and TEMPO9_THREADS away";
  }
  return check;
}

Check check_memory(const MachineMemory& memory) {
  Check check{.name = "memory"};
  check.found = fmt::format("{} free of {}", byte_size(memory.available), byte_size(memory.limit));
  if (memory.limit < memory.installed) {
    check.found +=
        fmt::format(" (control group's limit; the machine has {})", byte_size(memory.installed));
  }
  check.details = {{"installed_bytes", memory.installed},
                   {"limit_bytes", memory.limit},
                   {"available_bytes", memory.available}};
  if (memory.available < kLittleMemory) {
    check.level = Level::kWarn;
    check.expected = fmt::format("{} or more", byte_size(kLittleMemory));
    check.advice =
        memory.limit < memory.installed ? "raise the control group's limit" : "end other programs";
  }
  return check;
}

Check check_gpu(const GpuPaths& paths) {
  Check check{.name = "gpu"};
  std::vector<std::string> names = nvidia_names(paths.nvidia);
  std::ranges::move(card_names(paths.cards, !names.empty()), std::back_inserter(names));
  check.found = names.empty() ? "none found"
                              : fmt::format(
                                    "{}; not used yet, this version computes on the "
                                    "processor",
                                    fmt::join(names, ", "));
  check.details = {{"names", names}, {"used", false}};
  return check;
}

}  // namespace tempo9::cli
