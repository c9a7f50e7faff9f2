#include "models/blocks/reader.h"

#include <algorithm>
#include <array>

#include "quant/quant.h"

namespace tempo9::models {
namespace {

Result<uint32_t> bounded(const gguf::File& file, const std::string& key, uint64_t low,
                         uint64_t high) {
  T9_TRY(const uint64_t value, file.get_uint(key));
  if (value < low || value > high) {
    return make_error(ErrorCode::kCorrupt, "{}: {} is {}, expected {} to {}", file.path(), key,
                      value, low, high);
  }
  return static_cast<uint32_t>(value);
}

Result<std::vector<uint32_t>> per_layer(const gguf::File& file, const std::string& key, size_t n,
                                        uint64_t fallback, uint64_t low, uint64_t high) {
  T9_TRY(const std::vector<uint64_t> values, file.get_per_layer(key, n, fallback));
  std::vector<uint32_t> out;
  for (size_t i = 0; i < n; ++i) {
    if (values[i] < low || values[i] > high) {
      return make_error(ErrorCode::kCorrupt, "{}: {} of layer {} is {}, expected {} to {}",
                        file.path(), key, i, values[i], low, high);
    }
    out.push_back(static_cast<uint32_t>(values[i]));
  }
  return out;
}

}  // namespace

Result<Reader> Reader::create(const gguf::File& file, const std::string& architecture,
                              uint32_t max_length) {
  Reader reader(file);
  Config& c = reader.config_;
  c.architecture = architecture;
  c.max_length = max_length;
  T9_TRY(c.n_layers, bounded(file, reader.key("block_count"), 1, 4096));
  const std::string drafts = reader.key("nextn_predict_layers");
  T9_TRY(const uint64_t n_drafts, file.get_uint(drafts, 0));
  if (n_drafts >= c.n_layers) {
    return make_error(ErrorCode::kCorrupt, "{}: {} is {} of {} layers, expected fewer", file.path(),
                      drafts, n_drafts, c.n_layers);
  }
  c.n_draft_layers = static_cast<uint32_t>(n_drafts);
  c.n_layers -= c.n_draft_layers;
  T9_TRY(c.hidden_size, bounded(file, reader.key("embedding_length"), 1, 1u << 20));
  T9_TRY(c.n_heads, per_layer(file, reader.key("attention.head_count"), c.n_layers, 0, 1, 4096));
  T9_TRY(c.n_kv_heads,
         per_layer(file, reader.key("attention.head_count_kv"), c.n_layers, c.n_heads[0], 0, 4096));
  T9_TRY(c.intermediate_size,
         per_layer(file, reader.key("feed_forward_length"), c.n_layers, 0, 0, 1u << 24));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    if (c.n_kv_heads[i] > 0 && c.n_heads[i] % c.n_kv_heads[i] != 0) {
      return make_error(
          ErrorCode::kCorrupt,
          "{}: layer {} has {} attention heads and {} key/value heads, expected a multiple",
          file.path(), i, c.n_heads[i], c.n_kv_heads[i]);
    }
  }
  // Those that subtract the mean first call it otherwise.
  const bool has_layer_norm = file.find(reader.key("attention.layer_norm_epsilon")) != nullptr;
  T9_TRY(const double eps,
         file.get_float(reader.key(has_layer_norm ? "attention.layer_norm_epsilon"
                                                  : "attention.layer_norm_rms_epsilon")));
  c.norm_eps = static_cast<float>(eps);
  T9_TRY(const double base, file.get_float(reader.key("rope.freq_base"), 10000.0));
  if (!(eps >= 0.0 && eps < 1.0) || !(base > 1.0 && base < 1e12)) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: the norms' epsilon {} or rope.freq_base {} is out of range", file.path(),
                      eps, base);
  }
  c.rope_base = static_cast<float>(base);

  const uint64_t default_dim = c.hidden_size / c.n_heads[0];
  T9_TRY(const uint64_t key_dim, file.get_uint(reader.key("attention.key_length"), default_dim));
  T9_TRY(const uint64_t value_dim, file.get_uint(reader.key("attention.value_length"), key_dim));
  // Latent attention has sizes of its own (blocks/latent_attention.cc).
  const bool is_latent = file.find(reader.key("attention.kv_lora_rank")) != nullptr;
  if (key_dim == 0 || key_dim > 1024 || (key_dim != value_dim && !is_latent)) {
    return make_error(
        ErrorCode::kUnsupported,
        "{}: attention key length {} and value length {}, expected two equal numbers of 1 to 1024",
        file.path(), key_dim, value_dim);
  }
  c.head_dim = static_cast<uint32_t>(key_dim);
  T9_TRY(const uint64_t rope_dims, file.get_uint(reader.key("rope.dimension_count"), key_dim));
  if (rope_dims > key_dim || rope_dims % 2 != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: rope.dimension_count is {}, expected an even number up to {}",
                      file.path(), rope_dims, key_dim);
  }
  c.rope_dims = static_cast<uint32_t>(rope_dims);

  const gguf::Tensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr || embedding->ne[0] != c.hidden_size || embedding->ne[1] == 0 ||
      embedding->ne[1] > (1u << 24)) {
    return make_error(
        ErrorCode::kCorrupt, "{}: token_embd.weight is {}, expected a matrix [{}, vocabulary]",
        file.path(), embedding == nullptr ? "missing" : "of another shape", c.hidden_size);
  }
  c.n_vocab = static_cast<uint32_t>(embedding->ne[1]);
  return reader;
}

std::string Reader::layer_name(uint32_t layer, std::string_view name) {
  return fmt::format("blk.{}.{}", layer, name);
}

Result<ops::Matrix> Reader::matrix(const std::string& name, uint32_t n_in, uint32_t n_out,
                                   uint32_t n_experts) const {
  const std::string expected = n_experts > 1 ? fmt::format("[{}, {}, {}]", n_in, n_out, n_experts)
                                             : fmt::format("[{}, {}]", n_in, n_out);
  const gguf::Tensor* tensor = file_->find_tensor(name);
  if (tensor == nullptr) {
    return make_error(ErrorCode::kCorrupt, "{}: tensor {} is missing, expected {}", file_->path(),
                      name, expected);
  }
  if (tensor->ne != std::array<uint64_t, 4>{n_in, n_out, n_experts, 1}) {
    return make_error(ErrorCode::kCorrupt, "{}: tensor {} is [{}, {}, {}, {}], expected {}",
                      file_->path(), name, tensor->ne[0], tensor->ne[1], tensor->ne[2],
                      tensor->ne[3], expected);
  }
  if (quant::find_format(tensor->type) == nullptr) {
    return make_error(ErrorCode::kUnsupported, "{}: tensor {} is {}, which is no type for a weight",
                      file_->path(), name, dtype_info(tensor->type).name);
  }
  used_.push_back(tensor);
  ops::Matrix matrix{name, tensor->type, n_in, n_out, tensor->data};
  matrix.n_experts = n_experts;
  constexpr std::string_view kWeight = ".weight";
  if (name.ends_with(kWeight) && n_experts == 1) {
    const std::string scale = name.substr(0, name.size() - kWeight.size()) + ".scale";
    const gguf::Tensor* scales = file_->find_tensor(scale);
    const bool of_inputs = scales != nullptr && n_in > 1 && scales->ne[0] == n_in;
    if (scales != nullptr && !of_inputs) {
      T9_TRY(const std::vector<float> values, vector(scale, 1));
      matrix.scale = values.front();
    }
  }
  return matrix;
}

Result<std::vector<float>> Reader::vector(const std::string& name, uint32_t n,
                                          uint32_t rows) const {
  T9_TRY(const ops::Matrix row, matrix(name, n, rows));
  const uint32_t block = dtype_info(row.type).block_elements;
  if (n % block != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: tensor {} of {} elements is {}, which comes in blocks of {}",
                      file_->path(), name, n, dtype_info(row.type).name, block);
  }
  std::vector<float> values(size_t{n} * rows);
  quant::find_format(row.type)->decode(row.data.data(), values.data(), values.size() / block);
  return values;
}

Result<std::optional<std::vector<float>>> Reader::optional_vector(const std::string& name,
                                                                  uint32_t n) const {
  if (!has(name)) return std::optional<std::vector<float>>();
  T9_TRY(std::vector<float> values, vector(name, n));
  return std::optional<std::vector<float>>(std::move(values));
}

Result<uint32_t> Reader::size(std::string_view name, uint64_t low, uint64_t high) const {
  return bounded(*file_, key(name), low, high);
}

void Reader::leave_out(const std::string& name) const {
  const gguf::Tensor* tensor = file_->find_tensor(name);
  if (tensor != nullptr) used_.push_back(tensor);
}

Status Reader::check_all_used() const {
  for (const gguf::Tensor& tensor : file_->tensors()) {
    if (std::find(used_.begin(), used_.end(), &tensor) == used_.end()) {
      return make_error(
          ErrorCode::kUnsupported,
          "{}: tensor {} has no place in the {} graph of this version; serving without it would "
          "give wrong answers",
          file_->path(), tensor.name, config_.architecture);
    }
  }
  return {};
}

}  // namespace tempo9::models
