#include "engine/stop_matcher.h"

#include <algorithm>

namespace tempo9::engine {
namespace {

std::vector<uint32_t> borders(std::string_view stop) {
  std::vector<uint32_t> border(stop.size(), 0);
  for (size_t i = 1; i < stop.size(); ++i) {
    uint32_t k = border[i - 1];
    while (k > 0 && stop[i] != stop[k]) {
      k = border[k - 1];
    }
    border[i] = k + (stop[i] == stop[k] ? 1 : 0);
  }
  return border;
}

}  // namespace

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    if (!stop.empty()) {
      automata_.push_back({stop, borders(stop), 0});
    }
  }
}

void StopMatcher::push(std::string_view text, std::string* out) {
  if (matched_) {
    return;
  }
  if (automata_.empty()) {
    out->append(text);
    return;
  }
  for (const char c : text) {
    held_.push_back(c);
    for (Automaton& a : automata_) {
      while (a.state > 0 && a.stop[a.state] != c) {
        a.state = a.fallback[a.state - 1];
      }
      a.state += a.stop[a.state] == c ? 1 : 0;
      if (a.state == a.stop.size() && (!matched_ || a.stop.size() > matched_->size())) {
        matched_ = a.stop;
      }
    }
    if (matched_) {
      out->append(held_, 0, held_.size() - matched_->size());
      held_.clear();
      return;
    }
  }
  uint32_t n_held = 0;
  for (const Automaton& a : automata_) {
    n_held = std::max(n_held, a.state);
  }
  out->append(held_, 0, held_.size() - n_held);
  held_.erase(0, held_.size() - n_held);
}

void StopMatcher::flush(std::string* out) {
  out->append(held_);
  held_.clear();
}

}  // namespace tempo9::engine
