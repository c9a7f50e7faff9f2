// Rotary frequencies as a file asks for them. Sources: transformers' modeling_rope_utils; Peng et
// al. 2023 (arXiv:2309.00071) for yarn, Ding et al. 2024 (arXiv:2402.13753) for longrope.
#include <algorithm>
#include <cmath>

#include "models/blocks/reader.h"

namespace tempo9::models {
namespace {

// Cosines and sines are magnified by this: what the file says; else, with yarn_log_multiplier
// (whose families hold two equal multipliers, and their ratio counts), 1; else the paper's.
Result<double> yarn_magnitude(const Reader& reader, double factor) {
  const gguf::File& file = reader.file();
  T9_TRY(const double multiplier,
         file.get_float(reader.key("rope.scaling.yarn_log_multiplier"), 0.0));
  const double fallback = multiplier != 0.0 || factor <= 1.0 ? 1.0 : 0.1 * std::log(factor) + 1.0;
  T9_TRY(const double old_key, file.get_float(reader.key("rope.scaling.attn_factor"), fallback));
  return file.get_float(reader.key("rope.scaling.yarn_attn_factor"), old_key);
}

// YaRN: low frequencies are interpolated by factor, high ones kept, a ramp between; angles are also
// magnified.
Status apply_yarn(const Reader& reader, const RopeSpec& spec, double factor, ops::Rope& rope) {
  const gguf::File& file = reader.file();
  const std::string original_key = reader.key("rope.scaling.original_context_length");
  T9_TRY(const uint64_t original, file.get_uint(original_key));
  T9_TRY(const double fast, file.get_float(reader.key("rope.scaling.yarn_beta_fast"), 32.0));
  T9_TRY(const double slow, file.get_float(reader.key("rope.scaling.yarn_beta_slow"), 1.0));
  T9_TRY(const double magnitude, yarn_magnitude(reader, factor));
  if (original == 0 || !(fast > 0.0) || !(slow > 0.0) || !(magnitude > 0.0)) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: yarn needs numbers above 0, found {} {}, betas {} and {}, factor {}",
                      file.path(), original_key, original, fast, slow, magnitude);
  }
  const auto n_dims = static_cast<double>(spec.n_dims);
  const auto dim_of = [&](double rotations) {
    const auto context = static_cast<double>(original);
    return n_dims * std::log(context / (rotations * 2.0 * M_PI)) / (2.0 * std::log(spec.base));
  };
  double low = dim_of(fast), high = dim_of(slow);
  if (spec.round_yarn) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, n_dims - 1.0);
  if (high == low) high += 0.001;
  for (size_t i = 0; i < rope.inv_freq.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    rope.inv_freq[i] *= (1.0 - ramp) + ramp / factor;
  }
  rope.magnitude = static_cast<float>(magnitude);
  return {};
}

Status divide(const Reader& reader, const std::string& name, ops::Rope& rope) {
  const auto n = static_cast<uint32_t>(rope.inv_freq.size());
  T9_TRY(const auto divisors, reader.optional_vector(name, n));
  for (uint32_t i = 0; divisors && i < n; ++i) {
    if (!((*divisors)[i] > 0.0f)) {
      return make_error(ErrorCode::kCorrupt, "{}: {}[{}] is {}, expected a number above 0",
                        reader.file().path(), name, i, (*divisors)[i]);
    }
    rope.inv_freq[i] /= static_cast<double>((*divisors)[i]);
  }
  return {};
}

// A table of divisors for contexts up to the original length and one beyond. The original switches
// when a sequence grows past that length, which would change keys that are already cached: here the
// longest sequence to be served decides for all.
Status apply_longrope(const Reader& reader, ops::Rope& rope) {
  const gguf::File& file = reader.file();
  T9_TRY(const uint64_t original,
         file.get_uint(reader.key("rope.scaling.original_context_length")));
  T9_TRY(const double magnitude, file.get_float(reader.key("rope.scaling.attn_factor"), 1.0));
  if (!(magnitude > 0.0)) {
    return make_error(ErrorCode::kCorrupt, "{}: {} is {}, expected a number above 0", file.path(),
                      reader.key("rope.scaling.attn_factor"), magnitude);
  }
  rope.magnitude = static_cast<float>(magnitude);
  const std::string tables[] = {"rope_factors_short.weight", "rope_factors_long.weight"};
  const bool is_long = reader.config().max_length > original;
  ops::Rope unused = rope;
  T9_TRY(divide(reader, tables[is_long ? 0 : 1], unused));
  return divide(reader, tables[is_long ? 1 : 0], rope);
}

Status apply_scaling(const Reader& reader, const RopeSpec& spec, ops::Rope& rope) {
  const gguf::File& file = reader.file();
  const std::string type_key = reader.key("rope.scaling.type");
  T9_TRY(const double old_factor, file.get_float(reader.key("rope.scale_linear"), 1.0));
  T9_TRY(const double factor, file.get_float(reader.key("rope.scaling.factor"), old_factor));
  if (!(factor > 0.0)) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: rope.scaling.factor is {}, expected a number above 0", file.path(),
                      factor);
  }
  // Old files have a factor and no type: linear. Files with tables for longrope have no type
  // either.
  const bool tables = reader.has("rope_factors_long.weight");
  auto named = file.get_string(type_key, tables ? "longrope" : "linear");
  if (!named) return std::move(named).error();
  const std::string& type = *named;
  if (type == "none") return {};
  if (type == "yarn") return apply_yarn(reader, spec, factor, rope);
  if (type == "longrope" && tables) return apply_longrope(reader, rope);
  if (type != "linear") {
    return make_error(
        ErrorCode::kUnsupported,
        "{}: {} is '{}'; known are 'none', 'linear', 'yarn', and 'longrope' with its tables",
        file.path(), type_key, type);
  }
  for (double& f : rope.inv_freq) f /= factor;
  return {};
}

}  // namespace

Result<ops::Rope> read_rope(const Reader& reader, const RopeSpec& spec) {
  const uint32_t n_pairs = spec.n_dims / 2;
  ops::Rope rope{.inv_freq = std::vector<double>(n_pairs), .neox = spec.neox};
  for (uint32_t i = 0; i < n_pairs; ++i)
    rope.inv_freq[i] = std::pow(spec.base, -2.0 * i / spec.n_dims);
  if (!spec.scaled) return rope;
  T9_TRY(apply_scaling(reader, spec, rope));
  T9_TRY(divide(reader, "rope_freqs.weight", rope));
  return rope;
}

}  // namespace tempo9::models
