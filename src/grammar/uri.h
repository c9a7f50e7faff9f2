// References inside a schema: URIs and JSON pointers (RFC 3986, RFC 6901), as far as schemas use
// them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tempo9::grammar {

std::string resolve_uri(std::string_view base, std::string_view reference);
std::string without_fragment(std::string_view uri);
std::string_view fragment_of(std::string_view uri);  // behind the "#"

// A pointer one step longer.
std::string child(std::string_view pointer, std::string_view key);
// The value at a pointer ("" is root); null: there is none.
nlohmann::ordered_json* find_pointer(nlohmann::ordered_json* root, std::string_view pointer);

}  // namespace tempo9::grammar
