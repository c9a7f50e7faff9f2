#include <algorithm>
#include <utility>

#include "base/check.h"
#include "gguf/file_impl.h"
#include "gguf/gguf.h"
#include "gguf/parse.h"
#include "gguf/split.h"

namespace tempo9::gguf {
namespace {

std::string kind_text(const Entry& entry) {
  if (entry.kind != Kind::kArray) return std::string(kind_info(entry.kind).name);
  return fmt::format("[{}]", kind_info(entry.element).name);
}

// The first shard's metadata, read into memory.
Status read_metadata(const Shard& first, std::vector<std::pair<std::string, Value>>& metadata,
                     std::vector<std::string>& kinds) {
  metadata.reserve(first.file.entries.size());
  for (const Entry& entry : first.file.entries) {
    T9_TRY(Value value, read_value(first.source, entry));
    metadata.emplace_back(entry.key, std::move(value));
    kinds.push_back(kind_text(entry));
  }
  return {};
}

}  // namespace

File::File() : impl_(std::make_unique<Impl>()) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

Result<File> File::from_source(Source source, const OpenShard& open_shard) {
  File file;
  Impl& impl = *file.impl_;
  impl.path = source.path();
  T9_TRY(ParsedFile parsed, parse(source));
  T9_TRY(std::vector<Shard> shards,
         collect_shards(Shard{std::move(source), std::move(parsed)}, open_shard));
  impl.version = shards.front().file.version;
  T9_TRY(read_metadata(shards.front(), impl.metadata, impl.metadata_kinds));
  for (size_t i = 0; i < impl.metadata.size(); ++i)
    impl.metadata_index.emplace(impl.metadata[i].first, i);

  for (Shard& shard : shards) {
    T9_TRY(shard.source.map());
    const std::span<const uint8_t> data = shard.source.data();
    for (ParsedTensor& parsed_tensor : shard.file.tensors) {
      Tensor& tensor = parsed_tensor.tensor;
      tensor.data = data.subspan(static_cast<size_t>(parsed_tensor.begin),
                                 static_cast<size_t>(parsed_tensor.bytes));
      impl.tensor_index.emplace(tensor.name, impl.tensors.size());
      impl.tensors.push_back(std::move(tensor));
    }
    impl.shard_paths.push_back(shard.source.path());
    impl.sources.push_back(std::move(shard.source));
  }
  return file;
}

Result<File> File::open(const std::string& path) {
  T9_TRY(Source source, Source::open(path));
  return from_source(std::move(source), Source::open);
}

Result<File> File::from_bytes(std::vector<uint8_t> bytes, std::string name) {
  return from_source(Source::from_bytes(std::move(bytes), std::move(name)), nullptr);
}

Result<File> File::open_remote(std::vector<Remote> files) {
  T9_CHECK(!files.empty());
  const auto open = [&files](const std::string& path) -> Result<Source> {
    const auto file = std::ranges::find(files, path, &Remote::path);
    if (file == files.end()) return make_error(ErrorCode::kNotFound, "{}: not there", path);
    return Source::from_reader(file->path, file->n_bytes, file->read);
  };
  T9_TRY(Source first, open(files.front().path));
  return from_source(std::move(first), open);
}

const std::string& File::path() const { return impl_->path; }
const std::vector<std::string>& File::shard_paths() const { return impl_->shard_paths; }
uint32_t File::version() const { return impl_->version; }

uint64_t File::file_bytes() const {
  uint64_t bytes = 0;
  for (const Source& source : impl_->sources) bytes += source.size();
  return bytes;
}

const std::vector<Tensor>& File::tensors() const { return impl_->tensors; }

void File::forget(std::span<const uint8_t> bytes) const {
  for (const Source& source : impl_->sources) source.forget(bytes);
}

const Tensor* File::find_tensor(std::string_view name) const {
  const auto it = impl_->tensor_index.find(name);
  return it == impl_->tensor_index.end() ? nullptr : &impl_->tensors[it->second];
}

}  // namespace tempo9::gguf
