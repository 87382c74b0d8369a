/* y = scale * (W x) + bias for a few x: each row of W comes from memory once.

   w (n_out, n_in), x (rows, n_in), y (rows, n_out), all without gaps; scale and bias (n_out) or NULL.
   Four rows of W are read at a time, a quarter of the matrix apart: memory gives more as four streams than
   as one. The compiler makes the sums as wide as the machine's vectors (-fassociative-math). */

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
