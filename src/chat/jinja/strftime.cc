#include "chat/jinja/strftime.h"

#include <array>
#include <chrono>
#include <ctime>
#include <optional>
#include <string_view>

namespace tempo9::chat::jinja {
namespace {

struct Moment {
  std::tm fields = {};
  int microseconds = 0;
  std::optional<int> offset_seconds;  // none: a time without a zone
};

// Reads n digits at *at.
bool digits(std::string_view s, size_t* at, size_t n, int* out) {
  if (*at + n > s.size()) return false;
  int value = 0;
  for (size_t i = 0; i < n; ++i) {
    char c = s[*at + i];
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  *at += n;
  *out = value;
  return true;
}

bool skip(std::string_view s, size_t* at, std::string_view any_of) {
  if (*at >= s.size() || any_of.find(s[*at]) == std::string_view::npos) return false;
  ++*at;
  return true;
}

bool parse_clock(std::string_view s, size_t* at, Moment* m) {
  std::tm& t = m->fields;
  if (!digits(s, at, 2, &t.tm_hour)) return false;
  if (!skip(s, at, ":")) return true;
  if (!digits(s, at, 2, &t.tm_min)) return false;
  if (!skip(s, at, ":")) return true;
  if (!digits(s, at, 2, &t.tm_sec)) return false;
  if (!skip(s, at, ".,")) return true;
  int scale = 100'000, digit = 0;
  size_t begin = *at;
  while (digits(s, at, 1, &digit)) {
    m->microseconds += digit * scale;
    scale /= 10;
  }
  return *at > begin;
}

bool parse_zone(std::string_view s, size_t* at, Moment* m) {
  if (*at == s.size()) return true;
  if (skip(s, at, "Z")) {
    m->offset_seconds = 0;
    return *at == s.size();
  }
  int sign = s[*at] == '-' ? -1 : 1, hours = 0, minutes = 0;
  if (!skip(s, at, "+-") || !digits(s, at, 2, &hours)) return false;
  skip(s, at, ":");
  if (*at < s.size() && !digits(s, at, 2, &minutes)) return false;
  m->offset_seconds = sign * (hours * 3600 + minutes * 60);
  return *at == s.size() && hours < 24 && minutes < 60;
}

std::optional<Moment> parse_iso(std::string_view s) {
  Moment m;
  std::tm& t = m.fields;
  size_t at = 0;
  bool ok = digits(s, &at, 4, &t.tm_year) && skip(s, &at, "-") && digits(s, &at, 2, &t.tm_mon) &&
            skip(s, &at, "-") && digits(s, &at, 2, &t.tm_mday);
  if (ok && at < s.size())
    ok = skip(s, &at, "T t") && parse_clock(s, &at, &m) && parse_zone(s, &at, &m);
  if (!ok || t.tm_hour > 23 || t.tm_min > 59 || t.tm_sec > 59) return std::nullopt;
  std::chrono::year_month_day day{std::chrono::year(t.tm_year),
                                  std::chrono::month(static_cast<unsigned>(t.tm_mon)),
                                  std::chrono::day(static_cast<unsigned>(t.tm_mday))};
  if (!day.ok() || t.tm_year == 0) return std::nullopt;
  auto days = std::chrono::sys_days(day);
  t.tm_wday = static_cast<int>(std::chrono::weekday(days).c_encoding());
  t.tm_yday = static_cast<int>((days - std::chrono::sys_days(day.year() / 1 / 1)).count());
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  return m;
}

Moment local_now() {
  using std::chrono::system_clock;
  auto now = system_clock::now();
  std::time_t seconds = system_clock::to_time_t(now);
  Moment m;
  localtime_r(&seconds, &m.fields);
  auto since =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  m.microseconds = static_cast<int>(since % 1'000'000);
  return m;
}

std::string offset_text(const Moment& m, std::string_view colon) {
  if (!m.offset_seconds) return "";
  int minutes = *m.offset_seconds / 60;
  int magnitude = minutes < 0 ? -minutes : minutes;
  return fmt::format("{}{:02}{}{:02}", minutes < 0 ? '-' : '+', magnitude / 60, colon,
                     magnitude % 60);
}

// What the C library does not know of the time: parts of a second and the zone.
std::string expand_own(const Moment& m, const std::string& format) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out += format[i];
      continue;
    }
    char c = format[++i];
    if (c == 'f')
      out += fmt::format("{:06}", m.microseconds);
    else if (c == 'z')
      out += offset_text(m, "");
    else if (c == 'Z')
      out += !m.offset_seconds ? "" : *m.offset_seconds == 0 ? "UTC" : "UTC" + offset_text(m, ":");
    else
      out += std::string("%") + c;
  }
  return out;
}

}  // namespace

Result<std::string> format_time(const std::string& iso, const std::string& format) {
  Moment moment;
  if (iso.empty()) {
    moment = local_now();
  } else if (std::optional<Moment> parsed = parse_iso(iso)) {
    moment = *parsed;
  } else {
    return make_error(ErrorCode::kInvalidArgument,
                      "now: found '{}', expected an ISO time such as 2026-05-04T10:11:12", iso);
  }
  constexpr size_t kMaxFormat = 1000;
  if (format.size() > kMaxFormat) {
    return make_error(ErrorCode::kInvalidArgument,
                      "strftime_now: the format is longer than {} bytes", kMaxFormat);
  }
  // A mark behind the text tells an empty result from a full buffer.
  std::string pattern = expand_own(moment, format) + "|";
  std::array<char, 32 * 1024> buffer;
  size_t n = std::strftime(buffer.data(), buffer.size(), pattern.c_str(), &moment.fields);
  if (n == 0)
    return make_error(ErrorCode::kInvalidArgument, "strftime_now: the result is too long");
  return std::string(buffer.data(), n - 1);
}

}  // namespace tempo9::chat::jinja
