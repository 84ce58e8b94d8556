/* Load of new connections: connect, send one frame, wait until the broker closes the connection, connect again.

   WORKERS connections are open at any time, from 16 loopback source addresses in turn (127.0.1.1 to 127.0.1.16), so
   that the ports suffice. Prints one JSON line: the numbers of connections that the broker closed after the frame, that
   it answered, and that failed.

   usage: reconnect PORT SECONDS WORKERS FRAME_FILE */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SOURCES = 16, MOST_FRAME = 4096 };
typedef struct { int fd, sent; } Client;

static int set;
static unsigned long closed, answers, failed, response_bytes;
static unsigned next_source;
static struct sockaddr_in at;
static char frame[MOST_FRAME];
static size_t frame_size;

static void fail(const char *what) { perror(what); exit(1); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }

static void reconnect(Client *s) {
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000101u + next_source++ % SOURCES)};
    struct linger at_once = {.l_onoff = 1, .l_linger = 0}; /* no TIME_WAIT: ports can be used again */
    int on = 1;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    s->sent = 0;
    if (s->fd < 0) fail("socket");
    setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    setsockopt(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(s->fd, (struct sockaddr *)&from, sizeof from)) fail("bind");
    if (connect(s->fd, (struct sockaddr *)&at, sizeof at) && errno != EINPROGRESS) fail("connect");
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = s};
    if (epoll_ctl(set, EPOLL_CTL_ADD, s->fd, &event)) fail("epoll_ctl");
}

static void leave(Client *s) {
    close(s->fd);
    reconnect(s);
}

static void on_event(Client *s, unsigned events) {
    if (!s->sent && (events & EPOLLOUT)) {
        if (send(s->fd, frame, frame_size, MSG_NOSIGNAL) < 0) { failed++; leave(s); return; }
        s->sent = 1;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
        epoll_ctl(set, EPOLL_CTL_MOD, s->fd, &event);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        char answer[4096];
        ssize_t got = recv(s->fd, answer, sizeof answer, 0);
        if (got < 0 && errno == EAGAIN) return;
        if (got > 0) { answers++; response_bytes += (unsigned long)got; }
        else if (s->sent) closed++;
        else failed++;
        leave(s);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) { fprintf(stderr, "usage: %s PORT SECONDS WORKERS FRAME\n", argv[0]); return 2; }
    int file = open(argv[4], O_RDONLY), workers = atoi(argv[3]);
    ssize_t size = file < 0 ? -1 : read(file, frame, sizeof frame);
    if (size <= 0) fail(argv[4]);
    frame_size = (size_t)size;
    at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    set = epoll_create1(0);
    Client *clients = calloc((size_t)workers, sizeof *clients);
    double started = now(), end = started + atof(argv[2]);
    for (int i = 0; i < workers; i++) reconnect(&clients[i]);
    struct epoll_event events[256];
    while (now() < end) {
        int count = epoll_wait(set, events, 256, 100);
        for (int i = 0; i < count; i++) on_event(events[i].data.ptr, events[i].events);
    }
    printf("{\"answers\": %lu, \"closed\": %lu, \"failed\": %lu, \"seconds\": %.6f, \"response_bytes\": %lu}\n",
           answers, closed, failed, now() - started, response_bytes);
    return 0;
}
