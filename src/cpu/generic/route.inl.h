// A row's experts: scores from the router's logits, then the best of them. Exponentials and sums
// run on 16 virtual lanes and one tree, the choice is a plain walk, so every table gives the same
// bits. Source: transformers' routers (Qwen3MoeTopKRouter, Glm4MoeTopkRouter, GptOssTopKRouter).
// Included inside a table's namespace, after math.inl.h.

constexpr float kBelowScores = -__builtin_inff();

// The lanes of x + i that are there; the others hold fill.
T9_SIMD F32 load_filled(const float* x, uint32_t i, uint32_t n, float fill) {
  return n - i >= kLanes ? load(x + i) : fill_from(load_part(x + i, n - i), n - i, fill);
}

// p = e^(x - max x) / sum. p may be x; it holds n rounded up to 16 values.
static void softmax(const float* x, uint32_t n, float* p) {
  F32 top = set1(kBelowScores);
  for (uint32_t i = 0; i < n; i += kLanes) top = max(top, load_filled(x, i, n, kBelowScores));
  const F32 largest = set1(reduce_max(top));
  F32 sum = zero();
  for (uint32_t i = 0; i < n; i += kLanes) {
    const F32 e = exp(sub(load_filled(x, i, n, kBelowScores), largest));
    sum = add(sum, e);
    store(p + i, e);
  }
  const F32 total = set1(reduce_add(sum));
  for (uint32_t i = 0; i < n; i += kLanes) store(p + i, div(load(p + i), total));
}

// The index of the largest value that is not taken yet; of equal ones the lowest. Takes it.
T9_SIMD uint32_t take_best(const float* values, uint32_t n, float* taken) {
  uint32_t best = n;
  for (uint32_t i = 0; i < n; ++i) {
    if (taken[i] == 0 && (best == n || values[i] > values[best])) best = i;
  }
  taken[best] = 1;
  return best;
}

// Marks the experts of all but the best groups as taken.
T9_SIMD void drop_groups(const RouteArgs& args, const float* choice, float* taken) {
  const uint32_t size = args.n_experts / args.n_groups;
  for (uint32_t dropped = args.n_groups_used; dropped < args.n_groups; ++dropped) {
    // The worst group that is left; of equal ones the highest number goes.
    uint32_t worst = args.n_groups;
    float lowest = 0;
    for (uint32_t group = 0; group < args.n_groups; ++group) {
      const float* members = choice + group * size;
      if (taken[group * size] != 0) continue;
      float first = kBelowScores, second = kBelowScores;
      for (uint32_t i = 0; i < size; ++i) {
        if (members[i] > first) {
          second = first;
          first = members[i];
        } else if (members[i] > second) {
          second = members[i];
        }
      }
      const float sum = size > 1 && args.n_group_best > 1 ? first + second : first;
      if (worst == args.n_groups || sum <= lowest) {
        worst = group;
        lowest = sum;
      }
    }
    for (uint32_t i = 0; i < size; ++i) taken[worst * size + i] = 1;
  }
}

static void route(const RouteArgs& args) {
  const uint32_t n = args.n_experts, padded = (n + kLanes - 1) / kLanes * kLanes;
  float *scores = args.scratch, *choice = scores + padded, *taken = choice + padded;
  float *weights = args.out, *experts = args.out + args.n_used;
  if (args.gating == ops::Gating::kSoftmax) {
    softmax(args.logits, n, scores);
  } else {
    const bool sigmoid = args.gating == ops::Gating::kSigmoid;
    for (uint32_t i = 0; i < n; i += kLanes) {
      const F32 x = load_filled(args.logits, i, n, 0.0f);
      store(scores + i, sigmoid ? div(set1(1.0f), add(set1(1.0f), exp(sub(zero(), x)))) : x);
    }
  }
  for (uint32_t i = 0; i < n; ++i) {
    choice[i] = args.bias != nullptr ? scores[i] + args.bias[i] : scores[i];
    taken[i] = 0;
  }
  if (args.n_groups > 1) drop_groups(args, choice, taken);
  for (uint32_t slot = 0; slot < args.n_used; ++slot) {
    const uint32_t expert = take_best(choice, n, taken);
    experts[slot] = static_cast<float>(expert);
    weights[slot] = scores[expert];
  }
  if (args.gating == ops::Gating::kSoftmaxOfChosen) {
    softmax(weights, args.n_used, choice);
    for (uint32_t slot = 0; slot < args.n_used; ++slot) weights[slot] = choice[slot];
  }
  float divisor = 1.0f;
  if (args.normalise && args.gating != ops::Gating::kSoftmaxOfChosen) {
    float sum = 0;
    for (uint32_t slot = 0; slot < args.n_used; ++slot) sum += weights[slot];
    divisor = sum > 0 ? sum : 1.0f;
  }
  for (uint32_t slot = 0; slot < args.n_used; ++slot)
    weights[slot] = weights[slot] / divisor * args.scale;
}
