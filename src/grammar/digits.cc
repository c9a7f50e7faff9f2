#include "grammar/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tempo9::grammar {
namespace {

using Branches = std::vector<std::string>;

std::string digits(size_t n) { return n == 0 ? "" : fmt::format(" [0-9]{{{}}}", n); }
std::string literal(std::string_view text) {
  return text.empty() ? std::string("\"\"") : fmt::format("\"{}\"", text);
}
std::string range(char low, char high) { return fmt::format("[{}-{}]", low, high); }

// Numbers of as many digits as low, from low on.
void at_least(std::string_view prefix, std::string_view low, Branches* out) {
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i] == '9') continue;
    out->push_back(fmt::format("{}{} {}{}", literal(prefix), literal(low.substr(0, i)),
                               range(static_cast<char>(low[i] + 1), '9'),
                               digits(low.size() - i - 1)));
  }
  out->push_back(fmt::format("{}{}", literal(prefix), literal(low)));
}

void at_most(std::string_view prefix, std::string_view high, Branches* out) {
  for (size_t i = 0; i < high.size(); ++i) {
    if (high[i] == '0') continue;
    out->push_back(fmt::format("{}{} {}{}", literal(prefix), literal(high.substr(0, i)),
                               range('0', static_cast<char>(high[i] - 1)),
                               digits(high.size() - i - 1)));
  }
  out->push_back(fmt::format("{}{}", literal(prefix), literal(high)));
}

// Both of one length.
void between(const std::string& low, const std::string& high, Branches* out) {
  size_t same = 0;
  while (same < low.size() && low[same] == high[same]) ++same;
  if (same == low.size()) {
    out->push_back(literal(low));
    return;
  }
  const std::string_view l(low), h(high);
  at_least(l.substr(0, same + 1), l.substr(same + 1), out);
  if (h[same] - l[same] > 1) {
    out->push_back(
        fmt::format("{} {}{}", literal(l.substr(0, same)),
                    range(static_cast<char>(l[same] + 1), static_cast<char>(h[same] - 1)),
                    digits(low.size() - same - 1)));
  }
  at_most(h.substr(0, same + 1), h.substr(same + 1), out);
}

// 0 <= low <= high.
Branches natural(uint64_t low, std::optional<uint64_t> high) {
  Branches out;
  std::string from = std::to_string(low);
  const std::string to = high ? std::to_string(*high) : std::string();
  const size_t last = high ? to.size() : std::max(kMaxDigits, from.size());
  for (size_t n = from.size(); n <= last; ++n) {
    const std::string top = high && n == last ? to : std::string(n, '9');
    const bool whole = from[0] == '1' && from.find_first_not_of('0', 1) == std::string::npos &&
                       top.find_first_not_of('9') == std::string::npos;
    if (whole && !high) {  // all that are longer, too
      out.push_back(fmt::format("[1-9] [0-9]{{{},{}}}", n - 1, last - 1));
      break;
    }
    if (whole) {
      out.push_back(fmt::format("[1-9]{}", digits(n - 1)));
    } else {
      between(from, top, &out);
    }
    from.assign(n + 1, '0');
    from[0] = '1';
  }
  return out;
}

}  // namespace

std::string integers_ebnf(std::optional<long double> low, std::optional<long double> high) {
  Branches out;
  const auto magnitude = [](long double v) { return static_cast<uint64_t>(v < 0 ? -v : v); };
  if (!high || *high >= 0) {
    const uint64_t from = low && *low > 0 ? magnitude(*low) : 0;
    out = natural(from, high ? std::optional(magnitude(*high)) : std::nullopt);
  }
  if (!low || *low < 0) {
    const uint64_t from = high && *high < 0 ? magnitude(*high) : 1;
    const Branches below = natural(from, low ? std::optional(magnitude(*low)) : std::nullopt);
    out.push_back(fmt::format("\"-\" ({})", fmt::join(below, " | ")));
  }
  return fmt::format("({})", fmt::join(out, " | "));
}

}  // namespace tempo9::grammar
