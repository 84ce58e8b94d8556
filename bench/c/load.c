/* The load generator: one thread, epoll, IN_FLIGHT requests per connection, sent together when all of the last ones
   are answered.

   Sends the frame of a file repeatedly. With a batch offset, each connection is an idempotent producer with its own
   producer id (FIRST_PRODUCER + n). For each request the sequence rises and the CRC is computed again, so the broker
   cannot skip any of its checks. Responses are read completely; the two bytes at ERROR_AT of the response's payload are
   an error code. Prints one JSON line.

   usage: load PORT CONNECTIONS SECONDS FRAME_FILE BATCH_OFFSET RECORDS FIRST_PRODUCER ERROR_AT IN_FLIGHT
   FRAME_FILE holds IN_FLIGHT frames.  BATCH_OFFSET 0: they are sent as they are.  ERROR_AT 0: errors are not counted. */
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

enum { HEAD = 512, SCRATCH = 1 << 20, LATENCIES = 1 << 20 };
typedef struct { int fd, waits_for_space; uint8_t *frame; size_t sent; uint8_t head[HEAD]; size_t have, total; int unanswered; uint32_t sequence; double at; } Peer;

static int set;
static size_t frame_size, batch_offset, error_at;
static uint32_t records;
static uint64_t answers, bytes, errors;
static int first_error;
static double *latencies;
static size_t latency_count;
static int in_flight;

static void fail(const char *what) { perror(what); exit(1); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }

static void next_request(Peer *p) {
    p->sent = p->have = p->total = 0;
    p->unanswered = in_flight;
    p->at = now();
    if (!batch_offset) return;
    uint8_t *batch = p->frame + batch_offset;
    put32(batch + BATCH_BASE_SEQUENCE, p->sequence);
    p->sequence = (p->sequence + records) & 0x7fffffff;
    size_t size = get32(batch + BATCH_LENGTH) + 12;
    put32(batch + BATCH_CRC, crc32c(batch + BATCH_ATTRIBUTES, size - BATCH_ATTRIBUTES));
}

static void push(Peer *p) {
    while (p->sent < frame_size) {
        ssize_t sent = send(p->fd, p->frame + p->sent, frame_size - p->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) break;
        if (sent < 0) fail("send");
        p->sent += (size_t)sent;
    }
    int waits = p->sent < frame_size;
    if (waits == p->waits_for_space) return;
    p->waits_for_space = waits;
    struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = p};
    epoll_ctl(set, EPOLL_CTL_MOD, p->fd, &event);
}

static void answered(Peer *p) {
    answers++;
    bytes += p->total;
    if (latency_count < LATENCIES) latencies[latency_count++] = now() - p->at;
    int error = error_at ? (int16_t)get16(p->head + 4 + error_at) : 0;
    if (error && !errors++) first_error = error;
    p->have = p->total = 0;
    p->unanswered--;
}

/* Reads the bytes that have arrived; returns 1 when all responses are complete. */
static int pull(Peer *p, uint8_t *scratch) {
    for (;;) {
        ssize_t got = recv(p->fd, scratch, SCRATCH, 0);
        if (got < 0 && errno == EAGAIN) return 0;
        if (got <= 0) { fprintf(stderr, "connection closed by the broker\n"); exit(3); }
        for (size_t at = 0; at < (size_t)got;) {
            size_t wanted = p->total ? p->total - p->have : 4 - p->have, take = (size_t)got - at;
            if (take > wanted) take = wanted;
            if (p->have < HEAD) memcpy(p->head + p->have, scratch + at, take < HEAD - p->have ? take : HEAD - p->have);
            p->have += take;
            at += take;
            if (!p->total && p->have == 4) p->total = get32(p->head) + 4;
            if (p->total && p->have == p->total) answered(p);
        }
        if (!p->unanswered) return 1;
    }
}

static int by_value(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }

static Peer *connect_all(int count, uint16_t port, const uint8_t *frame, uint64_t first_producer) {
    Peer *peers = calloc((size_t)count, sizeof *peers);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
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
        push(p);
    }
    return peers;
}

int main(int argc, char **argv) {
    if (argc != 10) { fprintf(stderr, "usage: %s PORT CONNECTIONS SECONDS FRAME BATCH_OFFSET RECORDS FIRST_PRODUCER ERROR_AT IN_FLIGHT\n", argv[0]); return 2; }
    crc32c_prepare();
    double seconds = atof(argv[3]);
    int file = open(argv[4], O_RDONLY);
    struct stat info;
    if (file < 0 || fstat(file, &info)) fail(argv[4]);
    frame_size = (size_t)info.st_size;
    batch_offset = (size_t)atol(argv[5]);
    records = (uint32_t)atol(argv[6]);
    error_at = (size_t)atol(argv[8]);
    in_flight = atoi(argv[9]);
    uint8_t *frame = malloc(frame_size), *scratch = malloc(SCRATCH);
    latencies = malloc(sizeof *latencies * LATENCIES);
    if (!frame || !scratch || !latencies || read(file, frame, frame_size) != (ssize_t)frame_size) fail("frame");
    set = epoll_create1(0);
    connect_all(atoi(argv[2]), (uint16_t)atoi(argv[1]), frame, strtoull(argv[7], 0, 10));
    double started = now(), end = started + seconds, stopped = started;
    struct epoll_event ready[256];
    while ((stopped = now()) < end) {
        int events = epoll_wait(set, ready, 256, 100);
        for (int i = 0; i < events; i++) {
            Peer *p = ready[i].data.ptr;
            if (ready[i].events & EPOLLOUT) push(p);
            if (!(ready[i].events & EPOLLIN) || !pull(p, scratch)) continue;
            next_request(p);
            push(p);
        }
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    qsort(latencies, latency_count, sizeof *latencies, by_value);
    double cpu = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"answers\": %lu, \"seconds\": %.6f, \"request_bytes\": %lu, \"response_bytes\": %lu, \"errors\": %lu, \"first_error\": %d, "
           "\"client_cpu_seconds\": %.6f, \"p50_ms\": %.4f, \"p99_ms\": %.4f}\n",
           answers, stopped - started, answers * frame_size / (size_t)in_flight, bytes, errors, first_error, cpu,
           latency_count ? latencies[latency_count / 2] * 1e3 : 0, latency_count ? latencies[latency_count * 99 / 100] * 1e3 : 0);
    return 0;
}
