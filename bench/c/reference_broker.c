/* The C reference: the minimum work of a broker on this machine, without any features.

   One thread, level-triggered epoll, each response sent at once. The response depends on the request's API key:
     ApiVersions (18)  the bytes of the answer file, with the correlation id set
     Produce (0, v9)   the batch's CRC-32C checked, base offset and leader epoch written, one pwrite
     Fetch (1, v12)    the answer file as the head, `FETCH_SIZE` bytes of a file by sendfile, three bytes of tail
   The log is written as a broker writes it: a new file when a segment is full; of the full ones only the last is kept.
   Modes `echo` and `sink` are lower bounds, with which the reference itself is compared: only an epoll echo, and
   recv + crc + pwrite without parsing.

   usage: reference_broker PORT MODE FOLDER SEGMENT_BYTES ANSWER_FILE FETCH_SIZE      (MODE: broker, echo, sink) */
#define _GNU_SOURCE
#include "wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_FDS = 4096, FRAME_MAX = 4 << 20, FIRST_CAPACITY = 65536, TAIL = 3 };
typedef struct { uint8_t *buffer; size_t have, capacity, file_left; off_t file_at; } Connection;

static Connection connections[MAX_FDS];
static uint8_t answer[65536];
static size_t answer_size, fetch_size;
static const char *folder;
static int set, mode, log_fd = -1, data_fd = -1;
static off_t log_end, segment_bytes;
static uint64_t next_offset;
static unsigned segment;

static void fail(const char *what) { perror(what); exit(1); }

static int open_file(const char *name, unsigned number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%u", folder, name, number);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) fail(path);
    return fd;
}

static void roll(void) {
    char path[4096];
    if (log_fd >= 0) close(log_fd);
    if (segment >= 2) {
        snprintf(path, sizeof path, "%s/log-%u", folder, segment - 2);
        unlink(path);
    }
    log_fd = open_file("log", segment++);
    log_end = 0;
}

static void append(const uint8_t *batch, size_t size) {
    if (log_end + (off_t)size > segment_bytes) roll();
    if (pwrite(log_fd, batch, size, log_end) != (ssize_t)size) fail("pwrite");
    log_end += (off_t)size;
}

/* A small response: the socket buffer has room for it, since the peer has read the response before it. */
static void reply(int fd, const uint8_t *bytes, size_t size, int flags) {
    ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL | flags);
    if (sent != (ssize_t)size && (sent >= 0 || (errno != EPIPE && errno != ECONNRESET))) fail("send");
}

static void produce(int fd, uint8_t *frame, size_t frame_size) {
    const uint8_t *p = frame + 8;
    p += 2 + get16(p);      /* client id */
    p += 1;                 /* tagged fields of the header */
    if (uvarint(&p)) exit(3); /* transactional id: null */
    p += 6;                 /* acks, timeout */
    if (uvarint(&p) != 2) exit(3);
    uint32_t name = uvarint(&p);
    const uint8_t *topic = p;
    p += name - 1;
    if (uvarint(&p) != 2) exit(3);
    uint32_t index = get32(p);
    p += 4;
    size_t size = uvarint(&p) - 1;
    uint8_t *batch = (uint8_t *)p;
    if (batch + size > frame + frame_size) exit(3);
    if (get32(batch + BATCH_CRC) != crc32c(batch + BATCH_ATTRIBUTES, size - BATCH_ATTRIBUTES)) exit(3);
    put64(batch, next_offset);
    put32(batch + BATCH_EPOCH, 0);
    append(batch, size);
    uint8_t out[512], *o = out + 4;
    put32(o, get32(frame + 4)); o += 4;
    *o++ = 0; *o++ = 2; *o++ = (uint8_t)name;
    memcpy(o, topic, name - 1); o += name - 1;
    *o++ = 2; put32(o, index); o += 4; put16(o, 0); o += 2;
    put64(o, next_offset++); o += 8; put64(o, (uint64_t)-1); o += 8; put64(o, 0); o += 8;
    *o++ = 1; *o++ = 0; *o++ = 0; *o++ = 0;
    put32(o, 0); o += 4; *o++ = 0;
    put32(out, (uint32_t)(o - out - 4));
    reply(fd, out, (size_t)(o - out), 0);
}

static void watch(int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    epoll_ctl(set, EPOLL_CTL_MOD, fd, &event);
}

static void send_file(int fd, int resumed) {
    static const uint8_t tail[TAIL];
    Connection *c = &connections[fd];
    ssize_t sent = 1;
    while (c->file_left && (sent = sendfile(fd, data_fd, &c->file_at, c->file_left)) > 0) c->file_left -= (size_t)sent;
    if (!c->file_left) sent = send(fd, tail, TAIL, MSG_NOSIGNAL); /* three bytes are sent completely or not at all */
    if (sent < 0 && errno == EAGAIN) {
        if (!resumed) watch(fd, EPOLLIN | EPOLLOUT);
    } else if (resumed) {
        watch(fd, EPOLLIN);
    }
}

static void fetch(int fd, const uint8_t *frame) {
    Connection *c = &connections[fd];
    put32(answer + 4, get32(frame + 4));
    put32(answer, (uint32_t)(answer_size - 4 + fetch_size + TAIL));
    reply(fd, answer, answer_size, MSG_MORE);
    c->file_at = 0;
    c->file_left = fetch_size;
    send_file(fd, 0);
}

static void serve(int fd, uint8_t *frame, size_t size) {
    if (mode == 'e') { reply(fd, frame - 4, size + 4, 0); return; }
    if (mode == 's') {
        uint8_t ok[8];
        put32(ok, 4);
        put32(ok + 4, crc32c(frame, size));
        append(frame, size);
        reply(fd, ok, 8, 0);
        return;
    }
    switch (get16(frame)) {
        case 18: put32(answer + 4, get32(frame + 4)); reply(fd, answer, answer_size, 0); break;
        case 0: produce(fd, frame, size); break;
        case 1: fetch(fd, frame); break;
        default: exit(2);
    }
}

static int on_readable(int fd) {
    Connection *c = &connections[fd];
    ssize_t got = recv(fd, c->buffer + c->have, c->capacity - c->have, 0);
    if (got <= 0) return got < 0 && errno == EAGAIN ? 0 : -1;
    c->have += (size_t)got;
    size_t done = 0;
    while (c->have - done >= 4) {
        size_t size = get32(c->buffer + done);
        if (size > FRAME_MAX) return -1;
        if (c->have - done < size + 4) {
            if (size + 4 > c->capacity) {
                c->capacity = size + 4;
                if (!(c->buffer = realloc(c->buffer, c->capacity))) fail("realloc");
            }
            break;
        }
        serve(fd, c->buffer + done + 4, size);
        done += size + 4;
    }
    if (done) memmove(c->buffer, c->buffer + done, c->have -= done);
    return 0;
}

static void on_acceptable(int listener) {
    int fd, on = 1, send_buffer = 102400; /* the same as in the brokers with which it is compared */
    while ((fd = accept4(listener, 0, 0, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MAX_FDS) { close(fd); continue; }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
        Connection *c = &connections[fd];
        c->have = c->file_left = 0;
        if (!c->buffer) {
            c->capacity = FIRST_CAPACITY;
            if (!(c->buffer = malloc(c->capacity))) fail("malloc");
        }
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    }
}

static int listen_at(uint16_t port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1024)) fail("bind");
    getsockname(listener, (struct sockaddr *)&at, &length);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return listener;
}

static void fill_data(void) {
    uint8_t *bytes = malloc(fetch_size);
    for (size_t i = 0; i < fetch_size; i++) bytes[i] = (uint8_t)(i * 31);
    data_fd = open_file("data", 0);
    if (pwrite(data_fd, bytes, fetch_size, 0) != (ssize_t)fetch_size) fail("data file");
    free(bytes);
}

int main(int argc, char **argv) {
    if (argc != 7) { fprintf(stderr, "usage: %s PORT MODE FOLDER SEGMENT_BYTES ANSWER_FILE FETCH_SIZE\n", argv[0]); return 2; }
    crc32c_prepare();
    signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
    mode = argv[2][0];
    folder = argv[3];
    segment_bytes = (off_t)atoll(argv[4]);
    int fd = open(argv[5], O_RDONLY);
    if (fd < 0 || (answer_size = (size_t)read(fd, answer, sizeof answer)) < 8) fail(argv[5]);
    fetch_size = (size_t)atol(argv[6]);
    if (fetch_size) fill_data();
    roll();
    int listener = listen_at((uint16_t)atoi(argv[1]));
    set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[256];
    epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(set, ready, 256, -1);
        for (int i = 0; i < count; i++) {
            int peer = ready[i].data.fd;
            if (peer == listener) { on_acceptable(listener); continue; }
            if (ready[i].events & EPOLLOUT) send_file(peer, 1);
            if (ready[i].events & ~(uint32_t)EPOLLOUT && on_readable(peer)) close(peer);
        }
    }
}
