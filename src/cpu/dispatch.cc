#include <fmt/ranges.h>

#include "cpu/cpu.h"
#include "cpu/features.h"

namespace tempo9::cpu {

#define T9_ISA(isa, needs)         \
  namespace isa {                  \
  extern const KernelTable kTable; \
  }
#include "cpu/list.inc"
#undef T9_ISA

std::vector<TableInfo> describe_tables() {
  const std::vector<Feature> features = detect_features();
  return {
#define T9_ISA(isa, needs) \
  TableInfo{isa::kTable.name, needs, missing_features(needs, features), &isa::kTable},
#include "cpu/list.inc"
#undef T9_ISA
  };
}

std::vector<const KernelTable*> available_tables() {
  std::vector<const KernelTable*> tables;
  for (const TableInfo& table : describe_tables()) {
    if (table.missing.empty()) tables.push_back(table.kernels);
  }
  return tables;
}

Result<const KernelTable*> select_kernels(std::string_view name) {
  const std::vector<const KernelTable*> tables = available_tables();
  if (name.empty()) {
    const std::vector<TableInfo> all = describe_tables();
    const TableInfo& least = all[all.size() - 2];  // below it only plain C++, for comparisons
    if (least.missing.empty()) return tables.front();
    return make_error(ErrorCode::kUnsupported,
                      "this processor lacks {}; tempo9 needs {} (TEMPO9_CPU_ISA=scalar runs "
                      "without, and very slowly)",
                      fmt::join(least.missing, ", "), least.needs);
  }
  std::vector<std::string_view> names;
  for (const KernelTable* table : tables) {
    if (table->name == name) return table;
    names.push_back(table->name);
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "instruction set '{}' (TEMPO9_CPU_ISA) is unknown or not available here; this "
                    "machine runs {}",
                    name, fmt::join(names, ", "));
}

}  // namespace tempo9::cpu
