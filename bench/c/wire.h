/* What the reference broker and the load generator share: big-endian numbers, varints, CRC-32C by instruction. */
#ifndef SIGNALBOX_BENCH_WIRE_H
#define SIGNALBOX_BENCH_WIRE_H

#include <nmmintrin.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline void put32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void put64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }
static inline void put16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }

static inline uint32_t uvarint(const uint8_t **p) {
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return value;
}

/* Three streams of eight bytes keep the instruction's three-cycle latency busy; the tail is done one by one.
   The streams are joined by running the later ones over the earlier result, which the short form below avoids by
   working on 8-byte words in sequence: simple, and within a few per cent of memory speed for what is measured. */
static inline uint32_t crc32c(const uint8_t *p, size_t n) {
    uint64_t crc = 0xffffffff;
    while (n >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = _mm_crc32_u64(crc, word);
        p += 8;
        n -= 8;
    }
    while (n--) crc = _mm_crc32_u8((uint32_t)crc, *p++);
    return (uint32_t)crc ^ 0xffffffff;
}

/* Offsets inside a record batch v2. */
enum { BATCH_LENGTH = 8, BATCH_EPOCH = 12, BATCH_CRC = 17, BATCH_ATTRIBUTES = 21, BATCH_PRODUCER_ID = 43,
       BATCH_PRODUCER_EPOCH = 51, BATCH_BASE_SEQUENCE = 53, BATCH_HEADER = 61 };

#endif
