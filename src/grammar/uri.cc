#include "grammar/uri.h"

#include <charconv>

namespace tempo9::grammar {
namespace {

// The length of "scheme:", or 0.
size_t scheme_size(std::string_view uri) {
  for (size_t i = 0; i < uri.size(); ++i) {
    const char c = uri[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == ':') return i == 0 ? 0 : i + 1;
    const bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && (i == 0 || !other)) return 0;
  }
  return 0;
}

// "a/b/../c/./d" to "a/c/d".
std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    const bool last = slash == std::string_view::npos;
    if (part == "..") {
      const size_t before = out.size() < 2 ? std::string::npos : out.rfind('/', out.size() - 2);
      out.resize(before == std::string::npos ? out.starts_with('/') : before + 1);
    } else if (part != ".") {
      out += part;
      if (!last) out += '/';
    }
    path.remove_prefix(last ? path.size() : slash + 1);
  }
  return out;
}

}  // namespace

std::string without_fragment(std::string_view uri) {
  return std::string(uri.substr(0, uri.find('#')));
}

std::string_view fragment_of(std::string_view uri) {
  const size_t at = uri.find('#');
  return at == std::string_view::npos ? std::string_view() : uri.substr(at + 1);
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  if (scheme_size(reference) > 0) return std::string(reference);
  const std::string whole_base = without_fragment(base);
  if (reference.empty() || reference[0] == '#') return whole_base + std::string(reference);
  const size_t scheme = scheme_size(whole_base);
  size_t root = scheme;  // where the path begins
  if (whole_base.compare(scheme, 2, "//") == 0) {
    root = std::min(whole_base.find('/', scheme + 2), whole_base.size());
  }
  if (reference.starts_with("//")) return whole_base.substr(0, scheme) + std::string(reference);
  std::string path(reference);
  if (reference[0] != '/') {
    const size_t slash = whole_base.rfind('/');
    const bool has = slash != std::string::npos && slash >= root;
    path = (has ? whole_base.substr(root, slash + 1 - root) : std::string()) + path;
    if (!has && root > scheme) path.insert(path.begin(), '/');
  }
  const size_t hash = std::min(path.find('#'), path.size());
  return whole_base.substr(0, root) + without_dots(path.substr(0, hash)) + path.substr(hash);
}

std::string child(std::string_view pointer, std::string_view key) {
  std::string out(pointer);
  out += '/';
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

nlohmann::ordered_json* find_pointer(nlohmann::ordered_json* root, std::string_view pointer) {
  nlohmann::ordered_json* at = root;
  while (!pointer.empty()) {
    if (pointer[0] != '/') return nullptr;
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string key;
    for (size_t i = 1; i < end; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < end;
      key += escaped ? (pointer[++i] == '1' ? '/' : '~') : pointer[i];
    }
    pointer.remove_prefix(end);
    if (at->is_object()) {
      const auto it = at->find(key);
      if (it == at->end()) return nullptr;
      at = &*it;
      continue;
    }
    size_t index = 0;
    const auto [last, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (!at->is_array() || error != std::errc() || last != key.data() + key.size() ||
        index >= at->size()) {
      return nullptr;
    }
    at = &(*at)[index];
  }
  return at;
}

}  // namespace tempo9::grammar
