// The kernel table of this instruction set. Included last.

extern const KernelTable kTable;
const KernelTable kTable = {
    .name = T9_ISA_NAME,
    .linear = {linear_quant<FormatQ4_0>, linear_quant<FormatQ4_1>, linear_quant<FormatQ5_0>,
               linear_quant<FormatQ5_1>, linear_quant<FormatQ8_0>, linear_quant<FormatQ4_K>,
               linear_quant<FormatQ5_K>, linear_quant<FormatQ6_K>, linear_quant<FormatIQ4_NL>,
               linear_quant<FormatIQ4_XS>, linear_quant<FormatMXFP4>, linear_quant<FormatNVFP4>,
               linear_float<WeightF32>, linear_float<WeightF16>, linear_float<WeightBF16>},
    .quantize_row = quantize_row,
    .rms_norm = rms_norm,
    .silu_mul = silu_mul,
    .gelu_mul = gelu_mul,
    .rope = rope,
    .soft_cap = soft_cap,
    .append_kv = {append_kv_i16, append_kv<KvF16>, append_kv<KvF32>},
    .attention = {attention_i16, attention<KvF16>, attention<KvF32>},
    .merge_cells = {merge_cells<exp2>, merge_cells<exp>, merge_cells<exp>},
    .enter_thread = flush_denormals,
};
