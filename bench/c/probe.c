/* The control plane's client: one connection, RATE requests per second. A request is sent after the response to the one
   before it has arrived.

   Runs with real-time priority if that is permitted, so that the latencies are the broker's and do not include the
   client's own wait for a processor. Prints the sorted latencies in microseconds, one per line.

   usage: probe PORT SECONDS RATE FRAME_FILE */
#define _GNU_SOURCE
#include "wire.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 18 };
static double latencies[MOST];

static void fail(const char *what) { perror(what); exit(1); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }
static int by_value(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }

static void ask(int fd, const uint8_t *frame, size_t size) {
    static uint8_t answer[65536];
    size_t have = 0, total = 4;
    if (send(fd, frame, size, MSG_NOSIGNAL) != (ssize_t)size) fail("send");
    while (have < total) {
        ssize_t got = recv(fd, answer + have, sizeof answer - have, 0);
        if (got <= 0) fail("recv");
        have += (size_t)got;
        if (have >= 4) total = get32(answer) + 4;
    }
}

int main(int argc, char **argv) {
    if (argc != 5) { fprintf(stderr, "usage: %s PORT SECONDS RATE FRAME\n", argv[0]); return 2; }
    static uint8_t frame[65536];
    int file = open(argv[4], O_RDONLY), on = 1;
    ssize_t size = file < 0 ? -1 : read(file, frame, sizeof frame);
    if (size <= 0) fail(argv[4]);
    struct sched_param first = {.sched_priority = 10};
    sched_setscheduler(0, SCHED_FIFO, &first); /* without this permission the figures are only noisier */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    double step = 1 / atof(argv[3]), end = now() + atof(argv[2]), due = now();
    size_t count = 0;
    while (due < end && count < MOST) {
        struct timespec wake = {(time_t)due, (long)((due - (double)(time_t)due) * 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, 0);
        double sent = now();
        ask(fd, frame, (size_t)size);
        latencies[count++] = (now() - sent) * 1e6;
        due += step;
        if (due < now()) due = now();
    }
    qsort(latencies, count, sizeof *latencies, by_value);
    for (size_t i = 0; i < count; i++) printf("%.1f\n", latencies[i]);
    return 0;
}
