// What is said of repeated measurements.
#pragma once

#include <vector>

namespace tempo9 {

struct Summary {
  double median = 0;  // of an even number of values: the mean of the two in the middle
  double lowest = 0;
  double highest = 0;
};

// Requires: at least one value; none is NaN.
Summary summarize(std::vector<double> values);

}  // namespace tempo9
