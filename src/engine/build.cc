// Wires an engine together: file, program, tokenizer, backend or script, scheduler's sizes.
#include "engine/build.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>

#include "base/cpu_count.h"
#include "base/memory_limit.h"
#include "cpu/cpu.h"
#include "cpu/roofs.h"
#include "engine/file_identity.h"
#include "engine/idle_engine.h"
#include "engine/memory_budget.h"
#include "engine/model_executor.h"
#include "engine/random_bits.h"
#include "engine/script_executor.h"
#include "engine/script_template.h"
#include "gguf/gguf.h"
#include "models/models.h"

namespace tempo9::engine {
namespace {

// Rows of logits that a step may give beside one for each reply: prompts whose logprobs are asked
// for.
constexpr uint32_t kPromptLogitRows = 64;
// A twentieth of the machine's memory is left to others.
constexpr uint64_t kReservedShare = 20;

struct OpenFile {
  gguf::File file;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  ModelInfo info;
};

void count_parameters(const gguf::File& file, ModelInfo* info) {
  std::map<DType, uint64_t> n_by_format;
  uint64_t most = 0;
  for (const gguf::Tensor& tensor : file.tensors()) {
    info->n_parameters += tensor.n_elements();
    const uint64_t n = n_by_format[tensor.type] += tensor.n_elements();
    if (n <= most) continue;
    most = n;
    info->quantization = dtype_info(tensor.type).name;
  }
}

Result<OpenFile> open_file(const std::string& path) {
  T9_TRY(gguf::File file, gguf::File::open(path));
  T9_TRY(tokenizer::VocabData vocab, tokenizer::read_vocab(file));
  T9_TRY(auto tokenizer, tokenizer::make_tokenizer(std::move(vocab)));
  ModelInfo info;
  info.path = path;
  info.file_bytes = file.file_bytes();
  T9_TRY(info.architecture, file.get_string("general.architecture", ""));
  T9_TRY(info.name, file.get_string("general.name", ""));
  if (info.name.empty()) {
    info.name = std::filesystem::path(path).stem().string();
  }
  T9_TRY(std::string chat_template, file.get_string("tokenizer.chat_template", ""));
  if (!chat_template.empty()) {
    info.chat_template = std::move(chat_template);
  }
  count_parameters(file, &info);
  T9_TRY(info.embedding_length, file.get_uint(info.architecture + ".embedding_length", 0));
  return OpenFile{std::move(file), std::move(tokenizer), std::move(info)};
}

// What a file is known by, as long as nobody writes to it.
struct FileStamp {
  std::string path;
  std::filesystem::file_time_type written;
  uintmax_t n_bytes = 0;
  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const std::string& path) {
  std::error_code ignored;
  FileStamp stamp{.path = path, .written = {}, .n_bytes = 0};
  stamp.written = std::filesystem::last_write_time(path, ignored);
  stamp.n_bytes = std::filesystem::file_size(path, ignored);
  return stamp;
}

std::string stamp_text(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    const FileStamp stamp = stamp_of(path);
    text += fmt::format("{} {} ", stamp.n_bytes, stamp.written.time_since_epoch().count());
  }
  return text;
}

StepLoopOptions loop_options(const EngineOptions& asked, const Capacity& capacity) {
  StepLoopOptions options;
  options.limits.max_batch = asked.max_batch;
  options.limits.max_rows = std::max(asked.max_rows, asked.max_batch);
  options.limits.max_logit_rows = asked.max_batch + kPromptLogitRows;
  options.cache = capacity.cache;
  options.max_length = capacity.length.max_length;
  options.cache_secret = {random_bits(), random_bits()};
  return options;
}

// Of n_tokens ids those that both the head, if there is one, and the embedding table know.
uint32_t count_ids(const ops::Program& program, size_t n_tokens) {
  auto n_ids = static_cast<uint32_t>(n_tokens);
  if (program.n_vocab > 0) n_ids = std::min(n_ids, program.n_vocab);
  for (const ops::Op& op : program.ops) {
    if (const auto* embed = std::get_if<ops::Embed>(&op)) {
      n_ids = std::min(n_ids, program.matrices[static_cast<size_t>(embed->table.index)].n_out);
    }
  }
  return n_ids;
}

std::vector<kv::PageClass> page_classes(const ops::Program& program, ops::KvType type) {
  std::vector<kv::PageClass> classes;
  for (const ops::PageClass& c : cpu::kv_page_classes(program, type)) {
    classes.push_back({c.window, c.bytes});
  }
  return classes;
}

uint64_t default_memory() { return memory_limit() / 10 * 9; }

uint64_t memory_cap(const EngineOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes : default_memory();
}

// No op reads them, so they stand in memory as in the file.
uint64_t draft_bytes(const ops::Program& program) {
  uint64_t total = 0;
  for (const ops::DraftLayer& layer : program.draft_layers) {
    for (const ops::MatrixId id : layer.matrices)
      total += program.matrices[static_cast<size_t>(id.index)].data.size();
  }
  return total;
}

MemoryNeed memory_need(const ops::Program& program, ops::KvType kv_type, uint32_t step_tokens) {
  return {.weight_bytes = cpu::packed_weight_bytes(program),
          .draft_bytes = draft_bytes(program),
          .cache = {.classes = page_classes(program, kv_type),
                    .step_tokens = step_tokens,
                    .state_bytes = cpu::state_bytes(program)}};
}

Result<MemoryBudget> budget_of(const ops::Program& program, uint32_t declared,
                               const EngineOptions& options) {
  T9_TRY(const ops::KvType kv_type, parse_kv_type(options.kv_type));
  if (program.kv_layers.empty()) {
    return make_error(ErrorCode::kUnsupported,
                      "no layer of this model has attention; only recurrent models that also have "
                      "attention are served");
  }
  const uint32_t step_tokens = std::max(options.max_rows, options.max_batch);
  MemoryBudget budget;
  budget.need = memory_need(program, kv_type, step_tokens);
  budget.need_q8 = memory_need(program, ops::KvType::kQ8, step_tokens);
  budget.length = choose_length(options.max_length, declared).max_length;
  budget.declared = declared;
  budget.is_capped = options.memory_bytes > 0;
  budget.limit = memory_cap(options);
  budget.available = available_memory();
  return budget;
}

// Pages on disk (and states, where layers are recurrent), if they are wanted and the folder can be
// used; else null, and the reason is logged.
struct Disk {
  std::unique_ptr<kv::DiskTier> pages, states;
};
Disk open_disk(const EngineOptions& options, const ops::Program& program,
               const ops::Backend& backend, const Result<std::string>& file_hash) {
  const auto give_up = [&](const Error& error) {
    if (options.log) {
      options.log(
          fmt::format("no KV cache on disk: {} (AS_KV_OFFLOAD_PATH moves it, "
                      "AS_KV_OFFLOAD=0 turns it off)",
                      error.message));
    }
    return Disk{};
  };
  if (!file_hash) return give_up(file_hash.error());
  const std::string identity =
      fmt::format("{} {} {} {} {}", *file_hash, hash_ropes(program.ropes), options.kv_type,
                  backend.page_bytes(), backend.numerics());
  const auto open = [&](const std::string& name, uint64_t n_bytes) {
    return kv::DiskStore::open({.folder = options.kv_folder,
                                .cap_bytes = options.kv_disk_bytes,
                                .identity = name,
                                .page_bytes = n_bytes});
  };
  Disk disk;
  auto pages = open(identity, backend.page_bytes());
  if (!pages) return give_up(pages.error());
  disk.pages = std::make_unique<kv::DiskTier>(*std::move(pages), backend.page_bytes(), options.log);
  const uint64_t state_bytes = backend.state_bytes();
  if (state_bytes == 0) return disk;
  auto states = open(fmt::format("{} states {}", identity, state_bytes), state_bytes);
  if (!states) return give_up(states.error());
  disk.states =
      std::make_unique<kv::DiskTier>(*std::move(states), state_bytes, options.log,
                                     /*retry_time=*/std::chrono::minutes(1), /*is_chain=*/false);
  return disk;
}

}  // namespace

Result<EngineParts> build_script_parts(const EngineOptions& options) {
  T9_TRY(std::vector<ScriptLine> lines, read_script(options.script_path));
  EngineParts parts;
  uint32_t declared = kDefaultMaxLength;
  if (options.model_path.empty()) {
    parts.tokenizer = tokenizer::make_byte_tokenizer();
    parts.info.name = "script";
    parts.info.chat_template = std::string(script_chat_template());
  } else {
    T9_TRY(OpenFile open, open_file(options.model_path));
    parts.tokenizer = std::move(open.tokenizer);
    parts.info = std::move(open.info);
    parts.files = open.file.shard_paths();
    declared = models::context_length(open.file).value_or(declared);
  }
  // Page numbers cost next to nothing: as many as could ever be asked for.
  constexpr uint64_t kPageBytes = 512;
  T9_TRY(const Capacity capacity, choose_capacity(choose_length(options.max_length, declared),
                                                  {.max_batch = options.max_batch,
                                                   .max_rows = options.max_rows,
                                                   .classes = {{0, kPageBytes}},
                                                   .memory_bytes = uint64_t{64} << 20}));
  parts.info.max_length = capacity.length.max_length;
  parts.info.warning = capacity.length.warning;
  parts.info.backend = "script";
  parts.info.memory_limit_bytes = memory_cap(options);
  parts.info.is_script = true;
  for (const ScriptLine& line : lines) {
    if (!line.format.empty()) {
      parts.info.script_formats.push_back({line.number, line.format});
    }
  }
  parts.n_ids = static_cast<uint32_t>(parts.tokenizer->size());
  parts.loop = loop_options(options, capacity);
  parts.clock = std::make_unique<SteadyClock>();
  parts.executor =
      std::make_unique<ScriptExecutor>(std::move(lines), parts.tokenizer.get(), parts.clock.get());
  parts.copier = std::make_unique<NoCopier>();
  return parts;
}

Result<EngineParts> build_model_parts(const EngineOptions& asked) {
  EngineOptions options = asked;
  T9_TRY(OpenFile open, open_file(options.model_path));
  T9_TRY(const uint32_t declared, models::context_length(open.file));
  const uint32_t longest = choose_length(options.max_length, declared).max_length;
  T9_TRY(const ops::Program program, models::build_program(open.file, longest));
  const bool whole_prompts = ops::looks_ahead(program);
  if (whole_prompts) {  // which nothing can go on from
    options.max_rows = std::max(options.max_rows, longest);
    options.kv_folder.clear();
  }
  T9_TRY(const ops::KvType kv_type, parse_kv_type(options.kv_type));
  T9_TRY(const MemoryBudget budget, budget_of(program, declared, options));
  T9_TRY(const Capacity capacity, capacity_within(budget, options));
  T9_TRY(const ChosenPooling pooling, choose_pooling(options.pooling, open.file));

  EngineParts parts;
  parts.loop = loop_options(options, capacity);
  parts.loop.limits.whole_prompts = whole_prompts;
  ops::BackendOptions backend_options;
  const CpuCount usable = usable_cpus();
  backend_options.n_threads = options.n_threads > 0 ? options.n_threads : usable.n_cpus;
  backend_options.max_rows = parts.loop.limits.max_rows;
  backend_options.max_logit_rows = parts.loop.limits.max_logit_rows;
  backend_options.max_pages = capacity.cache.n_pages;
  backend_options.max_states = capacity.cache.n_states;
  backend_options.kv_type = kv_type;
  backend_options.isa = options.isa;
  backend_options.packed_file = options.packed_path;
  backend_options.packed_key = stamp_text(open.file.shard_paths());
  backend_options.log = options.log;
  backend_options.on_read = [&](std::span<const uint8_t> bytes) { open.file.forget(bytes); };
  // Hashed while the weights are packed: both read the file once. A refusal does not wait for it.
  std::optional<Result<std::string>> file_hash;
  std::jthread hashing;
  if (!options.kv_folder.empty()) {
    hashing = std::jthread([&file_hash, paths = open.file.shard_paths()](std::stop_token stop) {
      file_hash = hash_files(paths, stop);
    });
  }
  T9_TRY(auto backend, cpu::make_backend(program, backend_options));
  if (hashing.joinable()) {
    hashing.join();
    Disk disk = open_disk(options, program, *backend, *file_hash);
    parts.disk = std::move(disk.pages);
    parts.disk_states = std::move(disk.states);
  }
  if (parts.disk) {
    parts.loop.disk = parts.disk.get();
    parts.loop.disk_states = parts.disk_states.get();
    parts.loop.backend = backend.get();
    parts.loop.cache_secret = parts.disk->secret();
  }
  parts.loop.spare_memory = [cap = static_cast<int64_t>(budget.limit),
                             reserve = static_cast<int64_t>(memory_limit() / kReservedShare)] {
    return std::min(cap - static_cast<int64_t>(resident_memory()),
                    static_cast<int64_t>(available_memory()) - reserve);
  };

  parts.info = std::move(open.info);
  parts.files = open.file.shard_paths();
  parts.info.max_length = capacity.length.max_length;
  parts.info.warning = capacity.length.warning;
  if (!usable.warning.empty())
    parts.info.warning += (parts.info.warning.empty() ? "" : "; ") + usable.warning;
  parts.info.backend = std::string(backend->name());
  parts.info.n_threads = backend_options.n_threads;
  parts.info.pooling = pooling.pooling;
  parts.info.declares_pooling = pooling.declared;
  parts.info.embedding_width = program.state_width();
  parts.info.writes_text = !whole_prompts;
  parts.info.memory_limit_bytes = budget.limit;
  parts.n_ids = count_ids(program, open.tokenizer->size());
  parts.tokenizer = std::move(open.tokenizer);
  parts.clock = std::make_unique<SteadyClock>();
  parts.copier = std::make_unique<BackendCopier>(backend.get());
  parts.executor =
      std::make_unique<ModelExecutor>(std::move(backend), program.n_vocab, parts.n_ids);
  return parts;
}

Result<BenchModel> build_bench_model(const std::string& path, const ops::BackendOptions& options) {
  T9_TRY(gguf::File file, gguf::File::open(path));
  T9_TRY(ops::Program program, models::build_program(file));
  if (ops::looks_ahead(program)) {
    return make_error(ErrorCode::kUnsupported,
                      "{}: an embedding model writes no text, which is what is measured here",
                      path);
  }
  T9_TRY(const uint32_t declared, models::context_length(file));
  const uint64_t wanted = cpu::kv_page_bytes(program, options.kv_type) * options.max_pages;
  const uint64_t left =
      memory_need(program, options.kv_type, options.max_rows).left_for_kv(default_memory());
  if (wanted > left) {
    return make_error(
        ErrorCode::kResourceExhausted,
        "memory: the KV cache of these lengths and rows takes {} MiB, {} MiB are left "
        "beside the weights; give smaller --prefill, --rows or --depth",
        wanted >> 20, left >> 20);
  }
  T9_TRY(auto backend, cpu::make_backend(program, options));
  const uint32_t n_ids = count_ids(program, program.n_vocab);
  return BenchModel{std::move(file), std::move(program), std::move(backend), declared, n_ids};
}

Result<MemoryBudget> memory_budget(const gguf::File& file, const EngineOptions& options) {
  T9_TRY(const uint32_t declared, models::context_length(file));
  T9_TRY(const ops::Program program,
         models::build_program(file, choose_length(options.max_length, declared).max_length));
  return budget_of(program, declared, options);
}

// A program of nothing but its KV cache takes as much of that as the whole one.
Result<MemoryBudget> memory_budget(const ModelShape& shape, const EngineOptions& options) {
  ops::Program program;
  for (uint32_t i = 0; i < shape.n_layers; ++i) {
    program.kv_layers.push_back({shape.n_kv_heads, shape.head_dim});
    ops::Attention attention{};
    attention.kv_layer = i;
    attention.window = i < shape.n_window_layers ? shape.window : 0;
    program.ops.emplace_back(attention);
  }
  T9_TRY(MemoryBudget budget, budget_of(program, shape.context_length, options));
  budget.need.weight_bytes = budget.need_q8.weight_bytes = shape.weight_bytes;
  return budget;
}

std::vector<KernelTableReport> kernel_tables() {
  std::vector<KernelTableReport> tables;
  for (const cpu::TableInfo& table : cpu::describe_tables()) {
    tables.push_back({std::string(table.name), {table.missing.begin(), table.missing.end()}});
  }
  return tables;
}

Result<ops::RoofRates> measure_roof(ops::Roof roof, const ops::RoofOptions& options) {
  return cpu::measure_roof(roof, options);
}

namespace {

// The same files as at the start: vocabulary and template were taken from those.
Status check_unchanged(const std::vector<FileStamp>& stamps) {
  for (const FileStamp& stamp : stamps) {
    if (stamp_of(stamp.path) == stamp) continue;
    return make_error(ErrorCode::kIo,
                      "{}: was changed since the server started, so it is not loaded again; "
                      "restart the server",
                      stamp.path);
  }
  return {};
}

Result<EngineParts> build_parts(const EngineOptions& options) {
  T9_TRY(EngineParts parts,
         options.script_path.empty() ? build_model_parts(options) : build_script_parts(options));
  parts.on_failure = options.on_failure;
  return parts;
}

std::unique_ptr<Engine> make_idle_engine(const EngineOptions& options, EngineParts parts) {
  IdleEngineParts idle;
  idle.tokenizer = parts.tokenizer;
  idle.n_ids = parts.n_ids;
  idle.idle_time = options.idle_unload;
  idle.clock = std::make_unique<SteadyClock>();
  std::vector<FileStamp> stamps;
  for (const std::string& path : parts.files) stamps.push_back(stamp_of(path));
  idle.load = [options, tokenizer = parts.tokenizer,
               stamps = std::move(stamps)]() -> Result<std::unique_ptr<Engine>> {
    T9_TRY(check_unchanged(stamps));
    T9_TRY(EngineParts again, build_parts(options));
    // One copy is enough, but for a script's executor, which points to the one of its parts.
    if (options.script_path.empty()) again.tokenizer = tokenizer;
    return std::make_unique<ThreadedEngine>(std::move(again));
  };
  idle.engine = std::make_unique<ThreadedEngine>(std::move(parts));
  return std::make_unique<IdleEngine>(std::move(idle));
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options) {
  T9_TRY(check_options(options));
  T9_TRY(cpu::select_kernels(options.isa));  // a script's machine must have it, too
  T9_TRY(EngineParts parts, build_parts(options));
  if (options.idle_unload.count() > 0) return make_idle_engine(options, std::move(parts));
  return std::make_unique<ThreadedEngine>(std::move(parts));
}

}  // namespace tempo9::engine
