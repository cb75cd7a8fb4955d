"""Signatures of the quantized and fused ops of the domain com.microsoft, all of version 1.

Facts about onnxruntime 1.32, kept as data in the form that `signatures` reads; it follows
the `op` declarations of rule files: `int?` is an attribute without default, `T?` an optional
input, `T...` a variadic one, `{u8, f32}...` a variadic one whose elements may differ in type.
A test compares them with the schemas that onnxruntime registers.
"""

from __future__ import annotations

SIGNATURES = """
QuantizeLinear<axis: int?>(x: T1, y_scale: T1, y_zero_point: T2?) -> y: T2 where T1 in {f32,
    f16}, T2 in {u8, i8, u16, i16, u4, i4}
DequantizeLinear<axis: int?>(x: T1, x_scale: T2, x_zero_point: T1?) -> y: T2 where T1 in {u8,
    i8, u16, i16, i32, u4, i4}, T2 in {f32, f16}
QLinearAdd(A: T, A_scale: f32, A_zero_point: T?, B: T, B_scale: f32, B_zero_point: T?,
    C_scale: f32, C_zero_point: T?) -> C: T where T in {u8, i8}
QLinearMul(A: T, A_scale: f32, A_zero_point: T?, B: T, B_scale: f32, B_zero_point: T?,
    C_scale: f32, C_zero_point: T?) -> C: T where T in {u8, i8}
QLinearSigmoid(X: T, X_scale: f32, X_zero_point: T?, Y_scale: f32, Y_zero_point: T?) -> Y: T
    where T in {u8, i8}
QLinearLeakyRelu<alpha: float = 0.01>(X: T, X_scale: f32, X_zero_point: T?, Y_scale: f32,
    Y_zero_point: T?) -> Y: T where T in {u8, i8}
QLinearSoftmax<axis: int = -1, opset: int>(X: T, X_scale: f32, x_zero_point: T?, y_scale: f32,
    y_zero_point: T) -> Y: T where T in {u8, i8}
QLinearAveragePool<auto_pad: string = "NOTSET", ceil_mode: int = 0, channels_last: int = 0,
    count_include_pad: int = 0, kernel_shape: ints, pads: ints?, strides: ints?>(X: T,
    x_scale: f32, x_zero_point: T?, y_scale: f32, y_zero_point: T?) -> Y: T where T in {u8, i8}
QLinearGlobalAveragePool<channels_last: int = 0>(X: T, x_scale: f32, x_zero_point: T,
    y_scale: f32, y_zero_point: T) -> Y: T where T in {u8, i8}
QLinearConcat<axis: int>(Y_scale: f32, Y_zero_point: T8, inputs: {u8, i8, f32}...) -> Y: T8
    where T8 in {u8, i8}
QLinearWhere(condition: bool, X: T, x_scale: f32, x_zero_point: T, Y: T, y_scale: f32,
    y_zero_point: T, z_scale: f32, z_zero_point: T) -> Z: T where T in {u8, i8}
QLinearReduceMean<axes: ints, keepdims: int>(data: T, data_scale: f32, data_zero_point: T?,
    reduced_scale: f32, reduced_zero_point: T?) -> reduced: T where T in {u8, i8}
QLinearConv<auto_pad: string = "NOTSET", channels_last: int = 0, dilations: ints?,
    group: int = 1, kernel_shape: ints?, pads: ints?, strides: ints?>(x: T1, x_scale: f32,
    x_zero_point: T1, w: T2, w_scale: f32, w_zero_point: T2, y_scale: f32, y_zero_point: T3,
    B: i32?) -> y: T3 where T1 in {u8, i8}, T2 in {u8, i8}, T3 in {u8, i8}
QGemm<alpha: float = 1.0, transA: int = 0, transB: int = 0>(A: TA, a_scale: f32,
    a_zero_point: TA, B: TB, b_scale: f32, b_zero_point: TB, C: i32?, y_scale: f32?,
    y_zero_point: TY?) -> Y: TY where TA in {u8, i8}, TB in {u8, i8}, TY in {u8, i8, f32}
MatMulIntegerToFloat(A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point: T1?,
    b_zero_point: T2?, bias: T3?) -> Y: T3 where T1 in {u8, i8}, T2 in {u8, i8}, T3 in {f32,
    f16}
DynamicQuantizeMatMul(A: f32, B: T2, b_scale: f32, b_zero_point: T2?, bias: f32?) -> Y: f32
    where T2 in {u8, i8}
MatMulInteger16(A: T1, B: T2) -> Y: T3 where T1 in {u16, i16}, T2 in {u16, i16}, T3 in {i32,
    u32}
MulInteger(A: T, A_zero_point: T?, B: T, B_zero_point: T?) -> C: i32 where T in {u8, i8}
ReduceSumInteger<axes: ints, keepdims: int>(data: T1) -> reduced: T2 where T1 in {u8, i8},
    T2 in {i32, u32}
DynamicQuantizeLSTM<activation_alpha: floats?, activation_beta: floats?, activations: strings?,
    clip: float?, direction: string = "forward", hidden_size: int?,
    input_forget: int = 0>(X: f32, W: T2, R: T2, B: f32?, sequence_lens: i32?, initial_h: f32?,
    initial_c: f32?, P: f32?, W_scale: f32, W_zero_point: T2, R_scale: f32, R_zero_point: T2)
    -> Y: f32?, Y_h: f32?, Y_c: f32? where T2 in {u8, i8}
QAttention<do_rotary: int?, mask_filter_value: float?, num_heads: int,
    past_present_share_buffer: int?, scale: float?, unidirectional: int = 0>(input: T1,
    weight: T2, bias: T3, input_scale: T3, weight_scale: T3, mask_index: i32?,
    input_zero_point: T1?, weight_zero_point: T2?, past: T3?) -> output: T3, present: T3? where
    T1 in {u8, i8}, T2 in {u8, i8}, T3 in {f32, f16}
QEmbedLayerNormalization<epsilon: float = 1e-12>(input_ids: i32, segment_ids: i32?,
    word_embedding_quant: T2, position_embedding_quant: T2, segment_embedding: T2?,
    gamma_quant: T2, beta_quant: T2, mask: i32?, word_embedding_scale: f32,
    position_embedding_scale: f32, segment_embedding_scale: f32?, gamma_scale: f32,
    beta_scale: f32, word_embedding_zero_point: T2, position_embedding_zero_point: T2,
    segment_embedding_zero_point: T2?, gamma_zero_point: T2, beta_zero_point: T2)
    -> layernorm_out: f32, mask_index_out: i32 where T2 in {u8, i8}
NhwcMaxPool<auto_pad: string = "NOTSET", ceil_mode: int = 0, dilations: ints?,
    kernel_shape: ints, pads: ints?, strides: ints?>(x: T) -> y: T where T in {u8, i8}
MatMulNBits<K: int, N: int, accuracy_level: int = 0, bits: int = 4, block_size: int,
    weight_prepacked: int = 0>(A: T1, B: u8, scales: T1, zero_points: T3?, g_idx: i32?,
    bias: T1?) -> Y: T1 where T1 in {f32, f16, bf16}, T3 in {u8, f32, f16, bf16}
MatMulBnb4<K: int, N: int, block_size: int, quant_type: int, training_mode: int = 0,
    transB: int = 1>(A: T1, B: u8, absmax: T1) -> Y: T1 where T1 in {f32, f16, bf16}
MatMulFpQ4<blk_quant_type: int = 1>(A: f32, B: u8, B_shape: i64) -> Y: f32
GatherBlockQuantized<bits: int = 4, block_size: int = 128, gather_axis: int = 0,
    quantize_axis: int = 1>(data: T1, indices: Tind, scales: T2, zero_points: T1?) -> output: T2
    where T1 in {u8, u4, i4, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1}, Tind in {i32,
    i64}, T2 in {f32, f16, bf16}
QMoE<accuracy_level: int = 0, activation_alpha: float = 1.0, activation_beta: float = 0.0,
    activation_type: string = "relu", block_size: int?, expert_weight_bits: int = 4,
    fc1_expert_weight_bits: int?, fc2_expert_weight_bits: int?, fc3_expert_weight_bits: int?,
    k: int = 1, normalize_routing_weights: int = 0, quant_type: string = "int",
    swiglu_fusion: int = 0, swiglu_limit: float?, swiglu_limit_after_activation: int = 0,
    use_sparse_mixer: int = 0, weights_prepacked: int = -1>(input: T, router_probs: T,
    fc1_experts_weights: T1, fc1_scales: T2?, fc1_experts_bias: T?, fc2_experts_weights: T1,
    fc2_scales: T2?, fc2_experts_bias: T?, fc3_experts_weights: T1?, fc3_scales: T2?,
    fc3_experts_bias: T?, fc1_zero_points: T1?, fc2_zero_points: T1?, fc3_zero_points: T1?,
    router_weights: T?, fc1_global_scale: f32?, fc2_global_scale: f32?, fc1_act_scale: f32?,
    fc2_act_scale: f32?, fc1_act_block_scale: T2?, fc2_act_block_scale: T2?) -> output: T where
    T in {f32, f16, bf16}, T1 in {u8, f8e4m3fn}, T2 in {f32, f16, bf16, f8e4m3fn, f8e8m0}
QuantizeBFP<bfp_type: int, block_dim: int = -1>(x: T1) -> y: u8, shape: i64, strides: i64 where
    T1 in {f32, f16, bf16}
DequantizeBFP<bfp_type: int, block_dim: int = -1, dtype: int = 1>(x: u8, shape: i64,
    strides: i64) -> y: T3 where T3 in {f32, f16, bf16}
GemmFloat8<activation: string?, alpha: float = 1.0, beta: float = 0.0, dtype: int = 1,
    transA: int = 0, transB: int = 0>(A: TA, B: TB, C: TC?, scaleA: f32?, scaleB: f32?,
    scaleY: f32?) -> Y: TR where TA in {f32, f16, bf16, f8e4m3fn, f8e5m2}, TB in {f32, f16,
    bf16, f8e4m3fn, f8e5m2}, TC in {f32, f16, bf16}, TR in {f32, f16, bf16, f8e4m3fn, f8e5m2}
QOrderedMatMul<order_A: int, order_B: int, order_Y: int>(A: i8, scale_A: f32, B: i8,
    scale_B: f32, scale_Y: f32, bias: f32?, C: i8?, scale_C: f32?) -> Y: i8
QOrderedAttention<num_heads: int, order_input: int, order_output: int, order_weight: int,
    qkv_hidden_sizes: ints?, unidirectional: int = 0>(input: i8, scale_input: f32,
    scale_Q_gemm: f32, scale_K_gemm: f32, scale_V_gemm: f32, Q_weight: i8, K_weight: i8,
    V_weight: i8, scale_Q_weight: f32, scale_K_weight: f32, scale_V_weight: f32, Q_bias: f32,
    K_bias: f32, V_bias: f32, scale_QKT_gemm: f32?, scale_QKT_softmax: f32?,
    scale_values_gemm: f32, mask_index: i32?, past: i8?, attention_bias: f32?) -> output: i8
QOrderedGelu<order_X: int?, order_Y: int?>(X: i8, scale_X: f32, scale_Y: f32) -> Y: i8
QOrderedLayerNormalization<axis: int = -1, epsilon: float = 1e-05, order_X: int = 1,
    order_Y: int = 1>(X: i8, scale_X: f32, scale: F, B: F?, scale_Y: f32) -> Y: i8 where
    F in {f32, f16}
QOrderedLongformerAttention<num_heads: int, order_global_weight: int, order_input: int,
    order_output: int, order_weight: int, window: int>(input: i8, scale_input: f32, weight: i8,
    scale_weight: f32, bias: f32, scale_bias: f32, scale_qkv_gemm: f32, mask: f16,
    global_weight: i8, scale_global_weight: f32, global_bias: f32, scale_global_gemm: f32,
    global: i32, scale_output: f32) -> output: i8
QuantizeWithOrder<order_input: int, order_output: int>(input: F, scale_input: f32) -> output: i8
    where F in {f32, f16}
DequantizeWithOrder<order_input: int, order_output: int, to: int>(input: i8, scale_input: f32)
    -> output: F where F in {f32, f16}
FusedConv<activation: string?, activation_params: floats?, auto_pad: string = "NOTSET",
    dilations: ints?, group: int = 1, kernel_shape: ints?, pads: ints?, strides: ints?>(X: T,
    W: T, B: T?, Z: T?) -> Y: T where T in {f32, f16, f64}
FusedGemm<activation: string?, activation_alpha: float?, activation_beta: float?,
    activation_gamma: float?, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0>(A: T, B: T, C: T?) -> Y: T where T in {f32, f16, f64, i32, u32, i64, u64}
FusedMatMul<alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0,
    transBatchB: int = 0>(A: T, B: T) -> Y: T where T in {f32, f16, f64, bf16}
QuickGelu<alpha: float = 1.702>(X: T) -> Y: T where T in {f32, f16, f64, bf16}
Gelu(X: T) -> Y: T where T in {f32, f16, f64, bf16}
"""
