/* The C reference: what a broker must do on this machine at least, with no feature at all.

   One thread, level-triggered epoll. Answers, by the request's API key:
     ApiVersions (18)  the bytes of the answer file, with the correlation id set
     Produce (0, v9)   the batch's CRC-32C checked, base offset written, one pwrite to a file that is reused
     Fetch (1, v12)    a header, `size` bytes of a file by sendfile, a trailer
   Modes `echo` and `sink` are the floors that the reference itself is held against: a bare epoll echo, and
   recv + crc + pwrite without parsing.

   usage: reference_broker PORT MODE ANSWER_FILE DATA_FILE FETCH_SIZE      (MODE: broker, echo, sink) */
#define _GNU_SOURCE
#include "wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_FDS = 4096, SEGMENT = 268435456, FRAME_MAX = 4 << 20 };
typedef struct { uint8_t *buffer; size_t have, room; } Connection;

static Connection connections[MAX_FDS];
static uint8_t answer[65536];
static size_t answer_size;
static int log_fd, data_fd, mode;
static off_t log_end;
static uint64_t next_offset;
static size_t fetch_size;

static void fail(const char *what) { perror(what); exit(1); }

static void send_all(int fd, const uint8_t *p, size_t n) {
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) continue;
        if (sent <= 0) return;
        p += sent;
        n -= (size_t)sent;
    }
}

static void append(const uint8_t *batch, size_t size) {
    if (log_end + (off_t)size > SEGMENT) log_end = 0;
    if (pwrite(log_fd, batch, size, log_end) != (ssize_t)size) fail("pwrite");
    log_end += (off_t)size;
}

static void produce(int fd, uint8_t *frame) {
    const uint8_t *p = frame + 8;
    p += 2 + get16(p);       /* client id */
    p++;                     /* tagged fields of the header */
    p += uvarint(&p) ? 0 : 0; /* transactional id: null */
    p += 6;                  /* acks, timeout */
    uvarint(&p);             /* one topic */
    uint32_t name = uvarint(&p);
    const uint8_t *topic = p;
    p += name - 1;
    uvarint(&p);             /* one partition */
    uint32_t index = get32(p);
    p += 4;
    size_t size = uvarint(&p) - 1;
    uint8_t *batch = (uint8_t *)p;
    if (get32(batch + BATCH_CRC) != crc32c(batch + BATCH_ATTRIBUTES, size - BATCH_ATTRIBUTES)) exit(3);
    put64(batch, next_offset++);
    put32(batch + BATCH_EPOCH, 0);
    append(batch, size);
    uint8_t out[256], *o = out + 4;
    put32(o, get32(frame + 4)); o += 4;
    *o++ = 0; *o++ = 2; *o++ = (uint8_t)name;
    memcpy(o, topic, name - 1); o += name - 1;
    *o++ = 2; put32(o, index); o += 4; put16(o, 0); o += 2;
    put64(o, next_offset); o += 8; put64(o, (uint64_t)-1); o += 8; put64(o, 0); o += 8;
    *o++ = 1; *o++ = 0; *o++ = 0; *o++ = 0;
    put32(o, 0); o += 4; *o++ = 0;
    put32(out, (uint32_t)(o - out - 4));
    send_all(fd, out, (size_t)(o - out));
}

static void fetch(int fd, const uint8_t *frame) {
    /* header, throttle, error, session, one topic "t", one partition; the records' length as a five-byte varint */
    uint8_t out[64], *o = out + 4;
    put32(o, get32(frame + 4)); o += 4; *o++ = 0;
    memset(o, 0, 10); o += 10;
    *o++ = 2; *o++ = 2; *o++ = 't'; *o++ = 2;
    memset(o, 0, 4 + 2 + 24 + 1 + 4); o += 4 + 2 + 24 + 1 + 4;
    uint32_t length = (uint32_t)fetch_size + 1;
    for (int i = 0; i < 4; i++) { *o++ = (uint8_t)(length & 127 | 128); length >>= 7; }
    *o++ = (uint8_t)length;
    uint8_t trailer[3] = {0, 0, 0};
    put32(out, (uint32_t)(o - out - 4 + fetch_size + sizeof trailer));
    int cork = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &cork, sizeof cork);
    send_all(fd, out, (size_t)(o - out));
    off_t position = 0;
    for (size_t left = fetch_size; left;) {
        ssize_t sent = sendfile(fd, data_fd, &position, left);
        if (sent < 0 && errno == EAGAIN) continue;
        if (sent <= 0) return;
        left -= (size_t)sent;
    }
    send_all(fd, trailer, sizeof trailer);
    cork = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &cork, sizeof cork);
}

static void serve(int fd, uint8_t *frame, size_t size) {
    if (mode == 'e') { send_all(fd, frame - 4, size + 4); return; }
    if (mode == 's') {
        volatile uint32_t crc = crc32c(frame, size);
        (void)crc;
        append(frame, size);
        uint8_t ok[8];
        put32(ok, 4); put32(ok + 4, get32(frame + 4));
        send_all(fd, ok, 8);
        return;
    }
    switch (get16(frame)) {
        case 18: put32(answer + 4, get32(frame + 4)); send_all(fd, answer, answer_size); break;
        case 0: produce(fd, frame); break;
        case 1: fetch(fd, frame); break;
        default: exit(2);
    }
}

static int on_readable(int fd) {
    Connection *c = &connections[fd];
    ssize_t got = recv(fd, c->buffer + c->have, c->room - c->have, 0);
    if (got <= 0) return got < 0 && errno == EAGAIN ? 0 : -1;
    c->have += (size_t)got;
    size_t done = 0;
    while (c->have - done >= 4) {
        size_t size = get32(c->buffer + done);
        if (size > FRAME_MAX) return -1;
        if (c->have - done < size + 4) {
            if (size + 4 > c->room) {
                c->room = size + 4;
                if (!(c->buffer = realloc(c->buffer, c->room))) fail("realloc");
            }
            break;
        }
        serve(fd, c->buffer + done + 4, size);
        done += size + 4;
    }
    if (done) memmove(c->buffer, c->buffer + done, c->have -= done);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 6) { fprintf(stderr, "usage: %s PORT MODE ANSWER_FILE DATA_FILE FETCH_SIZE\n", argv[0]); return 2; }
    mode = argv[2][0];
    int fd = open(argv[3], O_RDONLY);
    if (fd < 0 || (answer_size = (size_t)read(fd, answer, sizeof answer)) < 8) fail(argv[3]);
    if ((log_fd = open(argv[4], O_RDWR | O_CREAT, 0600)) < 0) fail(argv[4]);
    data_fd = log_fd;
    fetch_size = (size_t)atol(argv[5]);
    if (fetch_size && ftruncate(log_fd, (off_t)fetch_size)) fail("ftruncate");
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1024)) fail("bind");
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[256];
    epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int count = epoll_wait(set, ready, 256, -1);
        for (int i = 0; i < count; i++) {
            int peer = ready[i].data.fd;
            if (peer != listener) {
                if (on_readable(peer)) { close(peer); connections[peer].have = 0; }
                continue;
            }
            while ((peer = accept4(listener, 0, 0, SOCK_NONBLOCK)) >= 0) {
                if (peer >= MAX_FDS) { close(peer); continue; }
                setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                Connection *c = &connections[peer];
                c->have = 0;
                if (!c->buffer) { c->room = 65536; if (!(c->buffer = malloc(c->room))) fail("malloc"); }
                event = (struct epoll_event){.events = EPOLLIN, .data.fd = peer};
                epoll_ctl(set, EPOLL_CTL_ADD, peer, &event);
            }
        }
    }
}
