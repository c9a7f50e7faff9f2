#include "engine/bench_parts.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "base/check.h"

namespace tempo9::engine {
namespace {

// "blk.12.attn_q.weight": "attn_q".
std::string_view tensor_kind(std::string_view name) {
  if (name.starts_with("blk.")) name.remove_prefix(std::min(name.find('.', 4) + 1, name.size()));
  return name.substr(0, name.rfind('.'));
}

struct PartName {
  std::string operator()(const ops::Embed&) const { return "embedding"; }
  std::string operator()(const ops::RmsNorm&) const { return "norm"; }
  std::string operator()(const ops::LayerNorm&) const { return "norm"; }
  std::string operator()(const ops::Linear& op) const { return tensors(op.matrices); }
  std::string operator()(const ops::HeadLinear& op) const { return tensors({op.matrix}); }
  std::string operator()(const ops::LatentAppend&) const { return "rope and KV write"; }
  std::string operator()(const ops::RopeAppend&) const { return "rope and KV write"; }
  std::string operator()(const ops::Attention&) const { return "attention"; }
  std::string operator()(const ops::GatedActivation&) const { return "activation"; }
  std::string operator()(const ops::Gelu&) const { return "activation"; }
  std::string operator()(const ops::Route&) const { return "route"; }
  std::string operator()(const ops::ExpertLinear& op) const { return tensors(op.matrices); }
  std::string operator()(const ops::ExpertSum&) const { return "sum of experts"; }
  std::string operator()(const ops::ReluSquared&) const { return "activation"; }
  std::string operator()(const ops::CausalConv&) const { return "convolution"; }
  std::string operator()(const ops::GatedDelta&) const { return "delta rule"; }
  std::string operator()(const ops::Mamba2Scan&) const { return "selective scan"; }
  std::string operator()(const ops::GatedNorm&) const { return "norm"; }
  std::string operator()(const ops::SigmoidGate&) const { return "gate"; }
  std::string operator()(const ops::Scale&) const { return "scale"; }
  std::string operator()(const ops::SelectRows&) const { return "choice of rows"; }
  std::string operator()(const ops::Head&) const { return "head"; }

  std::string tensors(const std::vector<ops::MatrixId>& matrices) const {
    std::string out;
    for (const ops::MatrixId id : matrices) {
      out += out.empty() ? "" : "+";
      out += tensor_kind(program.matrices[static_cast<size_t>(id.index)].name);
    }
    return out;
  }
  const ops::Program& program;
};

}  // namespace

std::vector<BenchPart> bench_parts(const ops::Program& program,
                                   std::span<const double> op_seconds) {
  T9_CHECK(op_seconds.size() == program.ops.size());
  std::vector<BenchPart> parts;
  for (size_t i = 0; i < op_seconds.size(); ++i) {
    if (op_seconds[i] == 0) continue;
    std::string name = std::visit(PartName{program}, program.ops[i]);
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const BenchPart& other) { return other.name == name; });
    if (part == parts.end()) part = parts.insert(part, {std::move(name), 0});
    part->seconds += op_seconds[i];
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const BenchPart& a, const BenchPart& b) { return a.seconds > b.seconds; });
  return parts;
}

}  // namespace tempo9::engine
