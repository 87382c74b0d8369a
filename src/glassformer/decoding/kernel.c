/* Linear layers for a few rows, and of them a Transformer's block for one new token in each row.

   y = scale * (W x) + bias for a few x: each row of W comes from memory once.
   w (n_out, n_in), x (rows, n_in), y (rows, n_out), all without gaps; scale and bias (n_out) or NULL.
   Four rows of W are read at a time, a quarter of the matrix apart: memory gives more as four streams than
   as one. The compiler makes the sums as wide as the machine's vectors (-fassociative-math). */

#include <math.h>
#include <stdint.h>

#define DOT4(name, number)                                                                         \
    static void name(const number *w, int64_t apart, const float *x, int64_t n, float *sums) {     \
        const number *w1 = w + apart, *w2 = w1 + apart, *w3 = w2 + apart;                          \
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            s0 += (float)w[i] * x[i], s1 += (float)w1[i] * x[i];                                   \
            s2 += (float)w2[i] * x[i], s3 += (float)w3[i] * x[i];                                  \
        }                                                                                          \
        sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;                                    \
    }

DOT4(dot4_float32, float)

#ifdef __AVX512F__ /* what gcc makes of the loop above takes half as long again for bytes */
#include <immintrin.h>
static void dot4_int8(const int8_t *w, int64_t apart, const float *x, int64_t n, float *sums) {
    __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 x_i = _mm512_loadu_ps(x + i);
        for (int k = 0; k < 4; k++) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(w + k * apart + i));
            sum[k] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), x_i, sum[k]);
        }
    }
    for (int k = 0; k < 4; k++) {
        sums[k] = _mm512_reduce_add_ps(sum[k]);
        for (int64_t j = i; j < n; j++) sums[k] += (float)w[k * apart + j] * x[j];
    }
}
#else
DOT4(dot4_int8, int8_t)
#endif

#define LINEAR(name, number, dot4)                                                                 \
    void name(const number *w, const float *scale, const float *bias, const float *x, float *y,    \
              int64_t n_out, int64_t n_in, int64_t rows) {                                         \
        int64_t quarter = n_out / 4;                                                               \
        for (int64_t o = 0; o < n_out; o = o + 1 == quarter ? 4 * quarter : o + 1) {               \
            int64_t apart = o < quarter ? quarter : 0, together = o < quarter ? 4 : 1;             \
            for (int64_t r = 0; r < rows; r++) {                                                   \
                float sums[4];                                                                     \
                dot4(w + o * n_in, apart * n_in, x + r * n_in, n_in, sums);                        \
                for (int64_t k = 0, at = o; k < together; k++, at += apart)                        \
                    y[r * n_out + at] = (scale ? scale[at] : 1) * sums[k] + (bias ? bias[at] : 0); \
            }                                                                                      \
        }                                                                                          \
    }

LINEAR(linear_float32, float, dot4_float32)
LINEAR(linear_int8, int8_t, dot4_int8)

/* The block is nn/blocks.py's, with the attention of nn/attention.py: one pass over its weights and its cache,
   without a call in between. A layer or norm that a block does not have is all zeros. */

typedef struct {
    const void *w; /* int8 if there is a scale, else float32 */
    const float *scale, *bias;
    int64_t n_out, n_in;
} Linear;

typedef struct {
    const float *weight, *bias;
    int64_t n; /* width */
    int64_t centred; /* LayerNorm; else RMSNorm */
    double eps;
} Norm;

typedef struct {
    Linear query, key, value, output, gate, up, down;
    Norm attention_norm, ffn_norm, query_norm, key_norm;
    int64_t n_heads, n_kv_heads, d_head, activation, post;
    double scale; /* of the scores */
} Block;

typedef struct {
    float *k, *v;                 /* (rows, n_kv_heads, ..., d_head), of which m belong to tokens, the newest last */
    int64_t row_apart, head_apart, m;
    const float *cos, *sin;       /* (rows or 1, d_head / 2), or NULL */
    int64_t angles_apart, interleaved;
    const uint8_t *visible;       /* (rows or 1, m), or NULL */
    int64_t visible_apart;
    const float *bias;            /* (rows or 1, n_heads, m), or NULL */
    int64_t bias_apart;
} Place;

static void linear(const Linear *l, const float *x, float *y, int64_t rows) {
    if (l->scale) linear_int8(l->w, l->scale, l->bias, x, y, l->n_out, l->n_in, rows);
    else linear_float32(l->w, 0, l->bias, x, y, l->n_out, l->n_in, rows);
}

static void norm(const Norm *norm, const float *x, float *y, int64_t rows) {
    for (int64_t n = norm->n; rows--; x += n, y += n) {
        float mean = 0, square = 0;
        if (norm->centred) {
            for (int64_t i = 0; i < n; i++) mean += x[i];
            mean /= n;
        }
        for (int64_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
        float by = 1 / sqrtf(square / n + (float)norm->eps);
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * by * (norm->weight ? norm->weight[i] : 1) + (norm->bias ? norm->bias[i] : 0);
    }
}

static void rotate(const Place *place, int64_t row, float *x, int64_t heads, int64_t d) {
    const float *cos = place->cos + row * place->angles_apart, *sin = place->sin + row * place->angles_apart;
    int64_t step = place->interleaved ? 2 : 1, apart = place->interleaved ? 1 : d / 2;
    for (; heads--; x += d)
        for (int64_t i = 0; i < d / 2; i++) {
            float *a = x + i * step, *b = a + apart, first = *a, second = *b;
            *a = first * cos[i] - second * sin[i], *b = second * cos[i] + first * sin[i];
        }
}

/* One row's heads (n_heads, d_head) from its q, its new k and v written into the cache. */
static void attend(const Block *block, const Place *place, int64_t row, const float *q, const float *k_new,
                   const float *v_new, float *scores, float *out) {
    int64_t d = block->d_head, m = place->m, shared = block->n_heads / block->n_kv_heads;
    const uint8_t *visible = place->visible ? place->visible + row * place->visible_apart : 0;
    for (int64_t h = 0; h < block->n_heads; h++, q += d, out += d) {
        int64_t at = row * place->row_apart + h / shared * place->head_apart;
        float *k = place->k + at, *v = place->v + at, largest = -INFINITY, sum = 0;
        const float *bias = place->bias ? place->bias + row * place->bias_apart + h * m : 0;
        for (int64_t i = 0; h % shared == 0 && i < d; i++)
            k[(m - 1) * d + i] = k_new[h / shared * d + i], v[(m - 1) * d + i] = v_new[h / shared * d + i];
        for (int64_t j = 0; j < m; j++) {
            float score = 0;
            for (int64_t i = 0; i < d; i++) score += q[i] * k[j * d + i];
            scores[j] = visible && !visible[j] ? -INFINITY : score * (float)block->scale + (bias ? bias[j] : 0);
            largest = scores[j] > largest ? scores[j] : largest;
        }
        for (int64_t i = 0; i < d; i++) out[i] = 0;
        for (int64_t j = 0; j < m; j++) {
            float weight = expf(scores[j] - largest);
            sum += weight;
            for (int64_t i = 0; i < d; i++) out[i] += weight * v[j * d + i];
        }
        for (int64_t i = 0; i < d; i++) out[i] /= sum;
    }
}

static float activated(int64_t activation, float x) { /* as in ACTIVATIONS of block.py */
    switch (activation) {
    case 0: return x > 0 ? x : 0;
    case 1: return x / 2 * (1 + erff(x * 0.70710678f));
    case 2: return x / 2 * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    default: return x / (1 + expf(-x));
    }
}

static void attention(const Block *block, const Place *place, const float *x, float *y, int64_t rows, float *room) {
    int64_t d = block->d_head, n_q = block->n_heads * d, n_k = block->n_kv_heads * d;
    float *q = room, *k = q + rows * n_q, *v = k + rows * n_k, *heads = v + rows * n_k, *scores = heads + rows * n_q;
    linear(&block->query, x, q, rows), linear(&block->key, x, k, rows), linear(&block->value, x, v, rows);
    if (block->query_norm.n) {
        norm(&block->query_norm, q, q, rows * block->n_heads);
        norm(&block->key_norm, k, k, rows * block->n_kv_heads);
    }
    for (int64_t r = 0; r < rows; r++) {
        if (place->cos) {
            rotate(place, r, q + r * n_q, block->n_heads, d);
            rotate(place, r, k + r * n_k, block->n_kv_heads, d);
        }
        attend(block, place, r, q + r * n_q, k + r * n_k, v + r * n_k, scores, heads + r * n_q);
    }
    linear(&block->output, heads, y, rows);
}

static void feed_forward(const Block *block, const float *x, float *y, int64_t rows, float *room) {
    int64_t n = rows * block->up.n_out;
    float *inner = room, *gate = room + n;
    linear(&block->up, x, inner, rows);
    if (block->gate.w) linear(&block->gate, x, gate, rows);
    for (int64_t i = 0; i < n; i++)
        inner[i] = block->gate.w ? activated(block->activation, gate[i]) * inner[i]
                                 : activated(block->activation, inner[i]);
    linear(&block->down, inner, y, rows);
}

/* x (rows, D) becomes the block's output. `room` holds rows * (2 D + the larger of 2 q + 2 k and 2 inner) + m. */
void block(const Block *block, const Place *place, float *x, int64_t rows, float *room) {
    int64_t D = block->query.n_in, n = rows * D;
    float *before = room, *after = room + n;
    for (int64_t part = 0; part < 2; part++) {
        const Norm *norms = part ? &block->ffn_norm : &block->attention_norm;
        if (!block->post) norm(norms, x, before, rows);
        const float *in = block->post ? x : before;
        if (part) feed_forward(block, in, after, rows, after + n);
        else attention(block, place, in, after, rows, after + n);
        for (int64_t i = 0; i < n; i++) x[i] += after[i];
        if (block->post) norm(norms, x, x, rows);
    }
}
