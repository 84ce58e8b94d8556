/* The load generator: one thread, epoll, one request in flight per connection.

   Sends the frame of a file again and again. With a batch offset, every connection is an idempotent producer of its
   own: producer id FIRST_PRODUCER + n, sequence counted up, CRC made anew; so nothing of the broker's checks can be
   left out. Answers are read to the end and, with `check`, their error code is looked at (two bytes at the given
   place of the answer's payload). Prints one JSON line.

   usage: load PORT CONNECTIONS SECONDS FRAME_FILE BATCH_OFFSET RECORDS FIRST_PRODUCER ERROR_AT
   BATCH_OFFSET 0: the frame is sent as it is.  ERROR_AT 0: errors are not looked at. */
#define _GNU_SOURCE
#include "wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct { int fd; uint8_t *frame; size_t sent; uint8_t head[512]; size_t have, total; uint32_t sequence; double at; } Peer;

static size_t frame_size, batch_offset, error_at;
static uint32_t records;
static uint64_t answers, bytes, errors;
static int first_error;
static double *latencies;
static size_t latency_count;
enum { LATENCIES = 1 << 20 };

static void fail(const char *what) { perror(what); exit(1); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }

static void next_request(Peer *p) {
    p->sent = 0;
    p->have = p->total = 0;
    p->at = now();
    if (!batch_offset) return;
    uint8_t *batch = p->frame + batch_offset;
    put32(batch + BATCH_BASE_SEQUENCE, p->sequence);
    p->sequence = (p->sequence + records) & 0x7fffffff;
    size_t size = get32(batch + BATCH_LENGTH) + 12;
    put32(batch + BATCH_CRC, crc32c(batch + BATCH_ATTRIBUTES, size - BATCH_ATTRIBUTES));
}

static void push(int set, Peer *p) {
    while (p->sent < frame_size) {
        ssize_t sent = send(p->fd, p->frame + p->sent, frame_size - p->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) break;
        if (sent < 0) fail("send");
        p->sent += (size_t)sent;
    }
    struct epoll_event event = {.events = EPOLLIN | (p->sent < frame_size ? EPOLLOUT : 0), .data.ptr = p};
    static __thread int known = 0;
    (void)known;
    epoll_ctl(set, EPOLL_CTL_MOD, p->fd, &event);
}

/* Reads what is there; 1 when the answer is complete. */
static int pull(Peer *p, uint8_t *scratch, size_t room) {
    for (;;) {
        ssize_t got = recv(p->fd, scratch, room, 0);
        if (got < 0 && errno == EAGAIN) return 0;
        if (got <= 0) { fprintf(stderr, "connection closed by the broker\n"); exit(3); }
        size_t keep = sizeof p->head - (p->have < sizeof p->head ? p->have : sizeof p->head);
        if (keep > (size_t)got) keep = (size_t)got;
        if (keep) memcpy(p->head + p->have, scratch, keep);
        p->have += (size_t)got;
        if (!p->total && p->have >= 4) p->total = get32(p->head) + 4;
        if (p->total && p->have >= p->total) return 1;
    }
}

static int by_value(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }

int main(int argc, char **argv) {
    if (argc != 9) { fprintf(stderr, "usage: %s PORT CONNECTIONS SECONDS FRAME BATCH_OFFSET RECORDS FIRST_PRODUCER ERROR_AT\n", argv[0]); return 2; }
    int count = atoi(argv[2]);
    double seconds = atof(argv[3]);
    int file = open(argv[4], O_RDONLY);
    struct stat info;
    if (file < 0 || fstat(file, &info)) fail(argv[4]);
    frame_size = (size_t)info.st_size;
    batch_offset = (size_t)atol(argv[5]);
    records = (uint32_t)atol(argv[6]);
    uint64_t first_producer = strtoull(argv[7], 0, 10);
    error_at = (size_t)atol(argv[8]);
    uint8_t *frame = malloc(frame_size), *scratch = malloc(1 << 20);
    latencies = malloc(sizeof *latencies * LATENCIES);
    Peer *peers = calloc((size_t)count, sizeof *peers);
    if (!frame || !scratch || !peers || !latencies || read(file, frame, frame_size) != (ssize_t)frame_size) fail("frame");
    int set = epoll_create1(0), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < count; i++) {
        Peer *p = &peers[i];
        p->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(p->fd, (struct sockaddr *)&at, sizeof at)) fail("connect");
        setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        fcntl(p->fd, F_SETFL, O_NONBLOCK);
        p->frame = malloc(frame_size);
        memcpy(p->frame, frame, frame_size);
        if (batch_offset) {
            put64(p->frame + batch_offset + BATCH_PRODUCER_ID, first_producer + (uint64_t)i);
            put16(p->frame + batch_offset + BATCH_PRODUCER_EPOCH, 0);
        }
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
        epoll_ctl(set, EPOLL_CTL_ADD, p->fd, &event);
        next_request(p);
        push(set, p);
    }
    double started = now(), end = started + seconds, stopped = started;
    struct epoll_event ready[256];
    while ((stopped = now()) < end) {
        int events = epoll_wait(set, ready, 256, 100);
        for (int i = 0; i < events; i++) {
            Peer *p = ready[i].data.ptr;
            if (ready[i].events & EPOLLOUT) push(set, p);
            if (!(ready[i].events & EPOLLIN) || !pull(p, scratch, 1 << 20)) continue;
            answers++;
            bytes += p->total;
            if (latency_count < LATENCIES) latencies[latency_count++] = now() - p->at;
            if (error_at && get16(p->head + 4 + error_at)) { errors++; first_error = (int16_t)get16(p->head + 4 + error_at); }
            next_request(p);
            push(set, p);
        }
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    qsort(latencies, latency_count, sizeof *latencies, by_value);
    double cpu = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"answers\": %lu, \"seconds\": %.6f, \"request_bytes\": %lu, \"response_bytes\": %lu, \"errors\": %lu, \"first_error\": %d, "
           "\"client_cpu_seconds\": %.6f, \"p50_ms\": %.4f, \"p99_ms\": %.4f}\n",
           answers, stopped - started, answers * frame_size, bytes, errors, first_error, cpu,
           latency_count ? latencies[latency_count / 2] * 1e3 : 0, latency_count ? latencies[latency_count * 99 / 100] * 1e3 : 0);
    return errors ? 4 : 0;
}
