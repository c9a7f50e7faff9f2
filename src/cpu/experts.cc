#include "cpu/experts.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/check.h"

namespace tempo9::cpu {

void ExpertPlaces::sort(const float* routes, uint32_t n_rows, uint32_t n_used, uint32_t n_experts) {
  n_used_ = n_used;
  const auto expert_of = [&](uint32_t i) {
    return static_cast<uint32_t>(routes[size_t{i / n_used} * 2 * n_used + n_used + i % n_used]);
  };
  const uint32_t n = n_rows * n_used;
  rows_.resize(n);
  places_.resize(n);
  next_.assign(n_experts, 0);
  for (uint32_t i = 0; i < n; ++i) ++next_[expert_of(i)];
  runs_.clear();
  uint32_t place = 0;
  for (uint32_t expert = 0; expert < n_experts; ++expert) {
    const uint32_t n_places = next_[expert];
    next_[expert] = place;
    if (n_places > 0) runs_.push_back({expert, place, n_places});
    place += n_places;
  }
  for (uint32_t i = 0; i < n; ++i) {
    places_[i] = next_[expert_of(i)]++;
    rows_[places_[i]] = i / n_used;
  }
}

Status Experts::load(const ops::Program& program, const std::vector<Weight>& weights,
                     uint32_t max_rows) {
  size_t gathered = 0;
  for (const ops::Op& op : program.ops) {
    if (const auto* route = std::get_if<ops::Route>(&op)) {
      const uint32_t n_experts = program.widths[static_cast<size_t>(route->logits.index)];
      route_scratch_floats_ = std::max(route_scratch_floats_, route_scratch_floats(n_experts));
    }
    const auto* linear = std::get_if<ops::ExpertLinear>(&op);
    if (linear == nullptr || program.n_slots[static_cast<size_t>(linear->in.index)] > 0) continue;
    const uint32_t width = program.widths[static_cast<size_t>(linear->in.index)];
    const uint32_t n_used = program.widths[static_cast<size_t>(linear->routes.index)] / 2;
    bool quantized = false, floats = false;
    for (const ops::MatrixId id : linear->matrices) {
      const bool q = weights[static_cast<size_t>(id.index)].takes_quantized_rows();
      (q ? quantized : floats) = true;
    }
    const size_t row_bytes = (quantized ? width / kBlock * sizeof(QuantBlock) : 0) +
                             (floats ? width * sizeof(float) : 0);
    gathered = std::max(gathered, row_bytes * max_rows * n_used);
  }
  route_scratch_floats_ = (route_scratch_floats_ + kLanes - 1) / kLanes * kLanes;
  T9_TRY(gathered_, Memory::reserve(gathered));
  T9_TRY(route_scratch_, Memory::reserve(route_scratch_floats_ * sizeof(float) * pool_.size()));
  return {};
}

void Experts::route(const ops::Route& op, const float* bias, const float* scales,
                    const Activation& logits, const Activation& out, uint32_t n_rows) {
  RouteArgs args;
  args.n_experts = n_experts_ = logits.width;
  args.gating = op.gating;
  args.n_used = op.n_used;
  args.bias = bias;
  args.n_groups = op.n_groups;
  args.n_groups_used = op.n_groups_used;
  T9_CHECK(op.n_group_best <= 2);
  args.n_group_best = op.n_group_best;
  args.normalise = op.normalise;
  args.scale = op.scale;
  pool_.run(n_rows, 8, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    RouteArgs one = args;
    one.scratch = reinterpret_cast<float*>(route_scratch_.data()) + route_scratch_floats_ * thread;
    for (uint32_t r = begin; r < end; ++r) {
      one.logits = logits.data + size_t{r} * logits.width;
      one.out = out.data + size_t{r} * out.width;
      kernels_.route(one);
      for (uint32_t i = 0; scales != nullptr && i < op.n_used; ++i)
        one.out[i] *= scales[static_cast<size_t>(one.out[op.n_used + i])];
    }
  });
  places_.sort(out.data, n_rows, op.n_used, n_experts_);
  sorted_ = out.data;
}

Activation Experts::in_places(const Activation& in, const std::vector<Chunk>& chunks) {
  if (in.n_slots > 0) return in;
  const auto takes_quantized = [](const Chunk& c) { return c.weight->takes_quantized_rows(); };
  const bool quantized = std::any_of(chunks.begin(), chunks.end(), takes_quantized);
  const bool floats = !std::all_of(chunks.begin(), chunks.end(), takes_quantized);
  const auto rows = places_.rows();
  Activation out = in;
  uint8_t* at = gathered_.data();
  if (quantized) {
    out.quant.blocks = reinterpret_cast<QuantBlock*>(at);
    at += rows.size() * in.quant.n_blocks * sizeof(QuantBlock);
  }
  out.data = reinterpret_cast<float*>(at);
  pool_.run(static_cast<uint32_t>(rows.size()), 16, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (size_t place = begin; place < end; ++place) {
      const size_t row = rows[place];
      if (quantized) {
        const size_t n = in.quant.n_blocks;
        std::memcpy(out.quant.blocks + n * place, in.quant.blocks + n * row,
                    n * sizeof(QuantBlock));
      }
      if (floats) {
        std::memcpy(out.data + place * in.width, in.data + row * in.width,
                    in.width * sizeof(float));
      }
    }
  });
  return out;
}

void Experts::linear(const std::vector<Chunk>& chunks, const float* bias, const Activation& in,
                     const Activation& routes, const Activation& out, uint32_t n_rows,
                     uint8_t* scratch, size_t scratch_bytes) {
  const uint32_t n_used = routes.width / 2;
  T9_CHECK(sorted_ == routes.data && places_.rows().size() == size_t{n_rows} * n_used);
  const Activation x = in_places(in, chunks);
  const auto n_chunks = static_cast<uint32_t>(chunks.size());
  const auto n = static_cast<uint32_t>(places_.runs().size()) * n_chunks;
  const uint32_t grain = chunks_a_claim(n, n_rows, pool_.size());
  pool_.run(n, grain, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    each_product(chunks, begin, end, [&](uint32_t product, std::span<const Chunk> of_run) {
      if (interrupted_) return;
      const ExpertPlaces::Run& run = places_.runs()[product];
      LinearArgs args;
      args.n_rows = run.n_places;
      args.x_quant = x.quant;
      if (x.quantized) args.x_quant.blocks += size_t{x.quant.n_blocks} * run.first_place;
      args.x = x.data + size_t{x.width} * run.first_place;
      args.x_stride = x.width;
      args.out = out.data + size_t{out.width} * run.first_place;
      args.out_stride = out.width;
      if (bias != nullptr) args.bias = bias + size_t{out.width} * run.expert;
      args.scratch = scratch + scratch_bytes * thread;
      run_chunks(kernels_, of_run, run.expert, args);
    });
  });
}

void Experts::sum(const Activation& in, const Activation& routes, const Activation& out,
                  uint32_t n_rows, bool add) {
  const uint32_t n_used = routes.width / 2;
  T9_CHECK(sorted_ == routes.data);
  pool_.run(n_rows, 2, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t r = begin; r < end; ++r) {
      if (!add) std::fill_n(out.data + size_t{r} * out.width, out.width, 0.0f);
      for (uint32_t slot = 0; slot < n_used; ++slot) {
        kernels_.add_scaled(in.data + size_t{in.width} * places_.place(r, slot),
                            routes.data[size_t{r} * routes.width + slot], out.width,
                            out.data + size_t{r} * out.width);
      }
    }
  });
}

}  // namespace tempo9::cpu
