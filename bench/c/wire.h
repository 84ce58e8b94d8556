/* Shared by the reference broker, the load generator and the probe: big-endian numbers, varints, CRC-32C at memory
   speed. */
#ifndef SIGNALBOX_BENCH_WIRE_H
#define SIGNALBOX_BENCH_WIRE_H

#include <nmmintrin.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline void put16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void put32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void put64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

static inline uint32_t uvarint(const uint8_t **p) {
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return value;
}

/* The crc32 instruction takes three cycles, but one can begin in each cycle, so the CRCs of three adjacent blocks are
   computed at the same time. To join two CRCs, the first is continued over as many zero bytes as the second block has:
   a linear map of 32 bits, stored as four tables of 256. */
enum { CRC_LONG = 8192, CRC_SHORT = 256 };
static uint32_t crc_long_zeros[4][256], crc_short_zeros[4][256];

static inline uint64_t crc_word(uint64_t crc, const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return _mm_crc32_u64(crc, word);
}

static inline void crc_tables_for(uint32_t tables[4][256], int zeros) {
    uint32_t bit_to[32];
    for (int bit = 0; bit < 32; bit++) {
        uint64_t crc = 1u << bit;
        for (int n = 0; n < zeros; n += 8) crc = _mm_crc32_u64(crc, 0);
        bit_to[bit] = (uint32_t)crc;
    }
    for (int byte = 0; byte < 4; byte++)
        for (int value = 0; value < 256; value++) {
            uint32_t sum = 0;
            for (int bit = 0; bit < 8; bit++)
                if (value >> bit & 1) sum ^= bit_to[byte * 8 + bit];
            tables[byte][value] = sum;
        }
}

/* Called once, before the first crc32c. */
static inline void crc32c_prepare(void) {
    crc_tables_for(crc_long_zeros, CRC_LONG);
    crc_tables_for(crc_short_zeros, CRC_SHORT);
}

static inline uint32_t crc_over_zeros(uint32_t tables[4][256], uint32_t crc) {
    return tables[0][crc & 255] ^ tables[1][crc >> 8 & 255] ^ tables[2][crc >> 16 & 255] ^ tables[3][crc >> 24];
}

static inline uint64_t crc_three(uint64_t crc, const uint8_t *p, size_t block, uint32_t tables[4][256]) {
    uint64_t second = 0, third = 0;
    for (const uint8_t *end = p + block; p < end; p += 8) {
        crc = crc_word(crc, p);
        second = crc_word(second, p + block);
        third = crc_word(third, p + 2 * block);
    }
    crc = crc_over_zeros(tables, (uint32_t)crc) ^ second;
    return crc_over_zeros(tables, (uint32_t)crc) ^ third;
}

static inline uint32_t crc32c(const uint8_t *p, size_t n) {
    uint64_t crc = 0xffffffff;
    for (; n >= 3 * CRC_LONG; p += 3 * CRC_LONG, n -= 3 * CRC_LONG) crc = crc_three(crc, p, CRC_LONG, crc_long_zeros);
    for (; n >= 3 * CRC_SHORT; p += 3 * CRC_SHORT, n -= 3 * CRC_SHORT) crc = crc_three(crc, p, CRC_SHORT, crc_short_zeros);
    for (; n >= 8; p += 8, n -= 8) crc = crc_word(crc, p);
    while (n--) crc = _mm_crc32_u8((uint32_t)crc, *p++);
    return (uint32_t)crc ^ 0xffffffff;
}

/* Offsets inside a record batch v2. */
enum { BATCH_LENGTH = 8, BATCH_EPOCH = 12, BATCH_CRC = 17, BATCH_ATTRIBUTES = 21, BATCH_PRODUCER_ID = 43,
       BATCH_PRODUCER_EPOCH = 51, BATCH_BASE_SEQUENCE = 53 };

#endif
