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

std::vector<const KernelTable*> available_tables() {
  const Features features = detect_features();
  std::vector<const KernelTable*> tables;
#define T9_ISA(isa, needs) \
  if (needs) tables.push_back(&isa::kTable);
#include "cpu/list.inc"
#undef T9_ISA
  return tables;
}

Result<const KernelTable*> select_kernels(std::string_view name) {
  const std::vector<const KernelTable*> tables = available_tables();
  if (name.empty()) return tables.front();
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
