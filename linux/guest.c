/* The first and only program of a guest: it gets the network up, and sends and receives flows as it is told.
 *
 * Orders and reports are Ethernet frames of a kind of their own (EtherType 0x88b5, for experiments) on the
 * second network device, which leads to leafspine and nowhere else; crates/linux/src/orders.rs is the other
 * end and says what is in them. The first device carries the flows and nothing else: no ARP, no IPv6.
 *
 * One thread, no copies of payload, and nothing that reads a clock: reading it costs virtual time. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/random.h>
#include <linux/tcp.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SERVICE_PORT = 5001, OWN = 0x88b5, FRAME = 1514, HEADER = 14 };

/* What leafspine orders, and what a guest reports. */
enum { SYSCTL = 1, BEGIN = 2, EXPECT = 3, START = 4, SAMPLE = 5 };
enum { READY = 128, RECEIVED = 129, SENT = 130, FAILED = 131, SAMPLED = 132 };

enum side { SENDER, RECEIVER };

/* A flow at this host: what its socket's events mean. */
struct flow {
	enum side side;
	int fd;               /* -1: a receiver whose connection has not come. */
	uint32_t number;
	uint32_t peer;        /* Address and port of the other end, as on the wire. */
	uint16_t port;
	uint64_t left;        /* Bytes that are still to be written or read. */
	struct flow *next;
};

static int poller, control, listener;
static struct flow *flows;
static char zeros[1 << 20];

static void report(uint8_t kind, uint32_t flow, const void *body, size_t bytes)
{
	unsigned char frame[FRAME] = { 2, 0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 1, OWN >> 8, OWN & 255, kind };
	if (bytes > sizeof frame - HEADER - 5)
		bytes = sizeof frame - HEADER - 5;
	memcpy(frame + HEADER + 1, &flow, 4);
	if (bytes)
		memcpy(frame + HEADER + 5, body, bytes);
	/* All that could refuse it is a ring that is full for the moment. */
	while (send(control, frame, HEADER + 5 + bytes, 0) < 0 && (errno == ENOBUFS || errno == EINTR))
		;
}

/* Says what went wrong. What is no flow's ends the run. */
static void fail(uint32_t flow, const char *what)
{
	char text[256];
	snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
	report(FAILED, flow, text, strlen(text));
}

#define NO_FLOW UINT32_MAX

static void say(const char *text)
{
	int log = open("/dev/kmsg", O_WRONLY);
	if (log >= 0 && write(log, text, strlen(text)) > 0)
		close(log);
}

/* Before there is a control device there is only the console. */
static void die(const char *what)
{
	char text[256];
	snprintf(text, sizeof text, "leafspine: %s: %s", what, strerror(errno));
	say(text);
	_exit(1);
}

static int put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	ssize_t put = write(fd, text, strlen(text));
	int error = errno;
	close(fd);
	errno = error;
	return put < 0 ? -1 : 0;
}

/* Entropy from the run's seed, so that a run repeats and another seed gives another. */
static void seed_random(const char *seed)
{
	struct {
		struct rand_pool_info info;
		unsigned char bytes[64];
	} pool = { .info = { .entropy_count = 512, .buf_size = 64 } };
	uint64_t state = strtoull(seed ? seed : "0", NULL, 0);
	for (unsigned i = 0; i < sizeof pool.bytes; i++) {
		/* xorshift64*, Vigna 2016: the pool is hashed by the kernel, so any spread will do. */
		state += 0x9e3779b97f4a7c15;
		uint64_t x = state;
		x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
		pool.bytes[i] = x * 0x2545f4914f6cdd1d >> 56;
	}
	int fd = open("/dev/urandom", O_RDWR);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
		die("entropy");
	close(fd);
}

static void bring_up(const char *name, uint32_t address, int mtu)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(request.ifr_name, name);
	request.ifr_mtu = mtu;
	if (fd < 0 || ioctl(fd, SIOCSIFMTU, &request) < 0)
		die("MTU");
	/* No ARP: all frames go to one neighbour, leafspine, which knows where they are to go. */
	request.ifr_flags = IFF_UP | IFF_NOARP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		die("a device up");
	if (address) {
		struct sockaddr_in *in = (struct sockaddr_in *)&request.ifr_addr;
		memset(in, 0, sizeof *in);
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = address;
		if (ioctl(fd, SIOCSIFADDR, &request) < 0)
			die("an address");
		/* Wide enough (8.0.0.0/5) that 10.0.0.0, host 0, is a host of it and not its name. */
		in->sin_addr.s_addr = htonl(0xf8000000);
		if (ioctl(fd, SIOCSIFNETMASK, &request) < 0)
			die("a netmask");
	}
	close(fd);
}

static void open_control(void)
{
	int room = 8 << 20;
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(OWN) };
	at.sll_ifindex = if_nametoindex("eth1");
	control = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(OWN));
	if (control < 0 || bind(control, (struct sockaddr *)&at, sizeof at) < 0)
		die("the control device");
	setsockopt(control, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
}

static void watch(int fd, uint32_t events, void *what, int how)
{
	struct epoll_event event = { .events = events, .data.ptr = what };
	if (epoll_ctl(poller, how, fd, &event) < 0)
		fail(NO_FLOW, "epoll");
}

static void open_listener(void)
{
	int on = 1;
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(SERVICE_PORT) };
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (listener < 0 || bind(listener, (struct sockaddr *)&any, sizeof any) < 0 ||
	    listen(listener, 4096) < 0)
		return fail(NO_FLOW, "listen");
	watch(listener, EPOLLIN, &listener, EPOLL_CTL_ADD);
}

static struct flow *add_flow(enum side side, const unsigned char *order)
{
	struct flow *flow = calloc(1, sizeof *flow);
	flow->side = side;
	flow->fd = -1;
	memcpy(&flow->number, order, 4);
	memcpy(&flow->peer, order + 4, 4);
	memcpy(&flow->left, order + 12, 8);
	flow->next = flows;
	return flows = flow;
}

static void end_flow(struct flow *flow)
{
	struct flow **at = &flows;
	while (*at != flow)
		at = &(*at)->next;
	*at = flow->next;
	if (flow->fd >= 0)
		close(flow->fd);
	free(flow);
}

/* What the kernel says of a connection, in the order that orders.rs reads. */
static void report_info(uint8_t kind, struct flow *flow)
{
	/* The C library's header may be older than the kernel: what is newer stands at a known distance. */
	enum { TOTAL_RTO = offsetof(struct tcp_info, tcpi_snd_wnd) + 12 };
	union {
		struct tcp_info known;
		unsigned char raw[TOTAL_RTO + 64];
	} info = { .raw = { 0 } };
	uint16_t timeouts;
	socklen_t size = sizeof info;
	getsockopt(flow->fd, IPPROTO_TCP, TCP_INFO, &info, &size);
	memcpy(&timeouts, info.raw + TOTAL_RTO, 2);
	uint32_t fields[] = {
		info.known.tcpi_total_retrans, timeouts,
		info.known.tcpi_dsack_dups, info.known.tcpi_reord_seen,
		info.known.tcpi_snd_cwnd, info.known.tcpi_snd_mss,
		info.known.tcpi_snd_ssthresh, info.known.tcpi_rtt,
		info.known.tcpi_rttvar, info.known.tcpi_min_rtt,
		info.known.tcpi_unacked, info.known.tcpi_lost,
		info.known.tcpi_delivered, info.known.tcpi_delivered_ce,
		info.known.tcpi_ca_state, info.known.tcpi_backoff,
	};
	report(kind, flow->number, fields, sizeof fields);
}

static void fail_flow(struct flow *flow, const char *what)
{
	fail(flow->number, what);
	end_flow(flow);
}

static void write_some(struct flow *flow)
{
	while (flow->left) {
		size_t most = flow->left < sizeof zeros ? flow->left : sizeof zeros;
		ssize_t wrote = write(flow->fd, zeros, most);
		if (wrote < 0 && errno == EAGAIN)
			return;
		if (wrote < 0)
			return fail_flow(flow, "write");
		flow->left -= wrote;
	}
	/* The other end closes when it has all: then all is acknowledged. */
	shutdown(flow->fd, SHUT_WR);
	watch(flow->fd, EPOLLIN, flow, EPOLL_CTL_MOD);
}

static void sender_event(struct flow *flow, uint32_t events)
{
	int error = 0;
	socklen_t size = sizeof error;
	char byte;
	if (events & EPOLLERR) {
		getsockopt(flow->fd, SOL_SOCKET, SO_ERROR, &error, &size);
		errno = error;
		return fail_flow(flow, "a connection");
	}
	if (flow->left)
		return write_some(flow);
	if (read(flow->fd, &byte, 1) == 0) {
		report_info(SENT, flow);
		end_flow(flow);
	}
}

static void start_flow(const unsigned char *order)
{
	int on = 1;
	uint16_t port;
	struct flow *flow = add_flow(SENDER, order);
	struct sockaddr_in at = { .sin_family = AF_INET };
	memcpy(&port, order + 8, 2);
	at.sin_port = port;
	flow->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (flow->fd < 0)
		return fail_flow(flow, "socket");
	setsockopt(flow->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(flow->fd, (struct sockaddr *)&at, sizeof at) < 0)
		return fail_flow(flow, "bind");
	at.sin_addr.s_addr = flow->peer;
	at.sin_port = htons(SERVICE_PORT);
	if (connect(flow->fd, (struct sockaddr *)&at, sizeof at) < 0 && errno != EINPROGRESS)
		return fail_flow(flow, "connect");
	watch(flow->fd, EPOLLOUT, flow, EPOLL_CTL_ADD);
}

static void expect_flow(const unsigned char *order)
{
	struct flow *flow = add_flow(RECEIVER, order);
	memcpy(&flow->port, order + 8, 2);
}

static void read_some(struct flow *flow)
{
	for (;;) {
		/* Truncated: taken from the queue, and not copied. */
		ssize_t got = recv(flow->fd, zeros, sizeof zeros, MSG_TRUNC | MSG_DONTWAIT);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got < 0)
			return fail_flow(flow, "read");
		if (got == 0)
			return flow->left ? (errno = EPIPE, fail_flow(flow, "a flow too short"))
					  : end_flow(flow);
		if ((uint64_t)got > flow->left) {
			errno = EMSGSIZE;
			return fail_flow(flow, "a flow too long");
		}
		flow->left -= got;
		if (flow->left == 0)
			report(RECEIVED, flow->number, NULL, 0);
	}
}

static void accept_all(void)
{
	for (;;) {
		struct sockaddr_in peer;
		socklen_t size = sizeof peer;
		int fd = accept4(listener, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK);
		if (fd < 0)
			return;
		struct flow *flow = flows;
		while (flow && !(flow->side == RECEIVER && flow->fd < 0 && flow->port == peer.sin_port &&
				 flow->peer == peer.sin_addr.s_addr))
			flow = flow->next;
		if (!flow) {
			errno = ENOENT;
			fail(NO_FLOW, "a connection that nobody announced");
			close(fd);
			continue;
		}
		flow->fd = fd;
		watch(fd, EPOLLIN, flow, EPOLL_CTL_ADD);
		read_some(flow);
	}
}

static void set(char *key)
{
	char path[300] = "/proc/sys/";
	char *value = strchr(key, '=');
	size_t at = strlen(path);
	if (!value)
		return;
	*value++ = 0;
	for (const char *c = key; *c && at < sizeof path - 1; c++)
		path[at++] = *c == '.' ? '/' : *c;
	path[at] = 0;
	if (put_file(path, value) < 0)
		fail(NO_FLOW, key);
}

static struct flow *find(uint32_t number)
{
	struct flow *flow = flows;
	while (flow && !(flow->number == number && flow->side == SENDER))
		flow = flow->next;
	return flow;
}

static void obey(unsigned char *order, size_t bytes)
{
	uint32_t number;
	struct flow *flow;
	order[bytes] = 0;
	switch (order[0]) {
	case SYSCTL:
		return set((char *)order + 1);
	case BEGIN:
		open_listener();
		return report(READY, NO_FLOW, NULL, 0);
	case EXPECT:
		return expect_flow(order + 1);
	case START:
		return start_flow(order + 1);
	case SAMPLE:
		memcpy(&number, order + 1, 4);
		flow = find(number);
		if (flow)
			report_info(SAMPLED, flow);
	}
}

static void read_orders(void)
{
	unsigned char frame[FRAME + 1];
	ssize_t got;
	while ((got = recv(control, frame, FRAME, 0)) > HEADER)
		obey(frame + HEADER, got - HEADER);
}

int main(void)
{
	struct rlimit files = { 1 << 20, 1 << 20 };
	const char *host = getenv("LEAFSPINE_HOST"), *mtu = getenv("LEAFSPINE_MTU");
	struct epoll_event events[64];

	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mknod("/dev/kmsg", S_IFCHR | 0600, makedev(1, 11));
	mknod("/dev/urandom", S_IFCHR | 0600, makedev(1, 9));
	if (mount("proc", "/proc", "proc", 0, NULL) < 0)
		die("/proc");
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	seed_random(getenv("LEAFSPINE_SEED"));
	bring_up("lo", htonl(INADDR_LOOPBACK), 65536);
	bring_up("eth0", htonl(0x0a000000 + (host ? atoi(host) : 0)), mtu ? atoi(mtu) : 1500);
	bring_up("eth1", 0, 1500);
	open_control();
	poller = epoll_create1(0);
	watch(control, EPOLLIN, &control, EPOLL_CTL_ADD);
	report(READY, NO_FLOW, NULL, 0);
	for (;;) {
		int many = epoll_wait(poller, events, 64, -1);
		for (int i = 0; i < many; i++) {
			struct flow *flow = events[i].data.ptr;
			if (events[i].data.ptr == &control)
				read_orders();
			else if (events[i].data.ptr == &listener)
				accept_all();
			else if (flow->side == SENDER)
				sender_event(flow, events[i].events);
			else
				read_some(flow);
		}
	}
}
