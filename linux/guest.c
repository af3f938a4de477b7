/* The first program of a guest: it gets the network up, and sends and receives flows and runs programs as it is told.
 *
 * Orders and reports are Ethernet frames of a kind of their own (EtherType 0x88b5, for experiments) on the
 * second network device, which leads to leafspine and nowhere else; crates/linux/src/orders.rs is the other
 * end and says what is in them. The first device carries the flows and nothing else: no ARP, no IPv6.
 *
 * One thread, no copies of payload, and nothing that reads a clock: reading it costs virtual time.
 *
 * Programs see the files of the machine that leafspine runs on, read-only (hostfs), with a /tmp, /run, /dev, /proc
 * and /sys of the guest's own; the scenario's folder is at /scenario, which is where they start. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
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
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERVICE_PORT = 5001, OWN = 0x88b5, FRAME = 1514, HEADER = 14 };

/* What leafspine orders, and what a guest reports. */
enum { SYSCTL = 1, BEGIN = 2, EXPECT = 3, START = 4, SAMPLE = 5, TEXT = 6, RUN = 7 };
enum { READY = 128, RECEIVED = 129, SENT = 130, FAILED = 131, SAMPLED = 132, WROTE = 133, ENDED = 134 };

enum side { SENDER, RECEIVER, WRITTEN };

/* A flow at this host: what its socket's events mean. */
struct flow {
	enum side side;       /* First, as in struct pipe_end. */
	int fd;               /* -1: a receiver whose connection has not come. */
	uint32_t number;
	uint32_t peer;        /* Address and port of the other end, as on the wire. */
	uint16_t port;
	uint64_t left;        /* Bytes that are still to be written or read. */
	struct flow *next;
};

/* What a program writes to its standard output (1) or error (2). */
struct pipe_end {
	enum side side;       /* WRITTEN */
	int fd;               /* -1: closed. */
	uint8_t stream;
	uint32_t number;      /* The program's. */
};

/* A program: what it is, and once it runs, who. */
struct program {
	uint32_t number;
	pid_t process;
	char *text;           /* What it is told, string after string. */
	size_t bytes;
	struct pipe_end ends[2];
	struct program *next;
};

static int poller, control, listener, children = -1;
static struct flow *flows;
static struct program *programs;
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
	control = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(OWN));
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
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
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
	flow->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
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
		/* That was all; epoll tells of more, and of the end. A call less for each arrival. */
		if ((size_t)got < sizeof zeros)
			return;
	}
}

static void accept_all(void)
{
	for (;;) {
		struct sockaddr_in peer;
		socklen_t size = sizeof peer;
		int fd = accept4(listener, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
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

/* Programs. */

static struct program *program_of(uint32_t number)
{
	struct program *program = programs;
	while (program && program->number != number)
		program = program->next;
	if (!program) {
		program = calloc(1, sizeof *program);
		program->number = number;
		program->next = programs;
		programs = program;
	}
	return program;
}

/* More of what a program is told. */
static void add_text(uint32_t number, const void *text, size_t bytes)
{
	struct program *program = program_of(number);
	program->text = realloc(program->text, program->bytes + bytes);
	memcpy(program->text + program->bytes, text, bytes);
	program->bytes += bytes;
}

/* Puts an entry of the machine's root directory into the programs': a folder is bound, a link copied. */
static int take_over(const char *name)
{
	char from[300], to[300], link[300];
	struct stat is;
	snprintf(from, sizeof from, "/machine/%s", name);
	snprintf(to, sizeof to, "/programs/%s", name);
	if (lstat(from, &is) < 0)
		return 0;
	if (S_ISLNK(is.st_mode)) {
		ssize_t length = readlink(from, link, sizeof link - 1);
		link[length < 0 ? 0 : length] = 0;
		return symlink(link, to);
	}
	if (!S_ISDIR(is.st_mode))
		return 0;
	return mkdir(to, 0755) < 0 ? -1 : mount(from, to, NULL, MS_BIND, NULL);
}

static void make_devices(void)
{
	static const struct { const char *name; int major, minor; } devices[] = {
		{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 },
	};
	char path[64];
	for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
		snprintf(path, sizeof path, "/programs/dev/%s", devices[i].name);
		mknod(path, S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor));
		chmod(path, 0666);
	}
	symlink("/proc/self/fd", "/programs/dev/fd");
	symlink("/proc/self/fd/0", "/programs/dev/stdin");
	symlink("/proc/self/fd/1", "/programs/dev/stdout");
	symlink("/proc/self/fd/2", "/programs/dev/stderr");
	mkdir("/programs/dev/shm", 0777);
}

/* Puts together what programs see, once. */
static int make_root(const char *folder, const char *names)
{
	static const char *const own[] = { "dev", "run", "tmp", "proc", "sys", "scenario" };
	static int made;
	char path[64];
	struct dirent *entry;
	if (made)
		return 0;
	umask(0);
	mkdir("/machine", 0755);
	mkdir("/programs", 0755);
	if (mount("none", "/machine", "hostfs", MS_RDONLY, "/") < 0)
		return -1;
	for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
		snprintf(path, sizeof path, "/programs/%s", own[i]);
		mkdir(path, i < 3 ? 0777 : 0755);
		if (i < 3 && mount("none", path, "tmpfs", 0, "mode=0777") < 0)
			return -1;
	}
	if (mount("proc", "/programs/proc", "proc", 0, NULL) < 0 || mount("none", "/programs/sys", "sysfs", 0, NULL) < 0 ||
	    mount("none", "/programs/scenario", "hostfs", MS_RDONLY, folder) < 0)
		return -1;
	make_devices();
	DIR *machine = opendir("/machine");
	while (machine && (entry = readdir(machine))) {
		int known = entry->d_name[0] == '.' && (!entry->d_name[1] || entry->d_name[1] == '.');
		for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
			known |= !strcmp(entry->d_name, own[i]);
		if (!known && take_over(entry->d_name) < 0)
			return -1;
	}
	if (machine)
		closedir(machine);
	int hosts = open("/hosts", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (hosts < 0 || write(hosts, names, strlen(names)) < 0)
		return -1;
	close(hosts);
	/* A machine without such a file has programs without names; addresses are in their environment. */
	if (access("/programs/etc/hosts", F_OK) == 0 && mount("/hosts", "/programs/etc/hosts", NULL, MS_BIND, NULL) < 0)
		return -1;
	made = 1;
	return 0;
}

/* The strings of a program's text: how many arguments, they, and its environment, each list with NULL at its end. */
static char **strings_of(char *at, const char *end, unsigned *many)
{
	unsigned room = 2;
	for (const char *c = at; c < end; c++)
		room += !*c;
	char **all = calloc(room + 2, sizeof *all), **next = all;
	*many = strtoul(at, NULL, 10);
	at += strlen(at) + 1;
	for (unsigned i = 0; at < end; i++, at += strlen(at) + 1) {
		if (i == *many)
			next++;
		*next++ = at;
	}
	return all;
}

/* In the new process: becomes the program. What went wrong goes to `told`. */
static void become(char **strings, unsigned arguments, const int *write_ends, int told)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	int null = open("/programs/dev/null", O_RDONLY);
	if (chroot("/programs") == 0 && chdir("/scenario") == 0 && dup2(null, 0) == 0 && dup2(write_ends[0], 1) == 1 &&
	    dup2(write_ends[1], 2) == 2) {
		setsid();
		environ = strings + arguments + 1;
		execvp(strings[0], strings);
	}
	int error = errno;
	if (write(told, &error, sizeof error) < 0)
		_exit(126);
	_exit(127);
}

static void open_children(void)
{
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	watch(children, EPOLLIN, &children, EPOLL_CTL_ADD);
}

static void run_program(uint32_t number)
{
	struct program *program = program_of(number);
	unsigned arguments;
	int pipes[2][2], told[2], error = 0;
	add_text(number, "", 1);
	/* Folder, host's name and names of all hosts come first. */
	char *folder = program->text, *name = folder + strlen(folder) + 1, *names = name + strlen(name) + 1;
	char **strings = strings_of(names + strlen(names) + 1, program->text + program->bytes - 1, &arguments);
	if (sethostname(name, strlen(name)) < 0 || make_root(folder, names) < 0)
		return fail(NO_FLOW, "the files for programs");
	if (children < 0)
		open_children();
	if (pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0 || pipe2(told, O_CLOEXEC) < 0)
		return fail(NO_FLOW, "a pipe");
	program->process = fork();
	if (program->process == 0)
		become(strings, arguments, (int[]){ pipes[0][1], pipes[1][1] }, told[1]);
	close(told[1]);
	if (program->process < 0)
		return fail(NO_FLOW, "a process");
	/* Nothing comes if it has become what it is to be. */
	if (read(told[0], &error, sizeof error) > 0) {
		errno = error;
		fail(NO_FLOW, strings[0]);
	}
	close(told[0]);
	for (int i = 0; i < 2; i++) {
		close(pipes[i][1]);
		fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
		program->ends[i] = (struct pipe_end){ WRITTEN, pipes[i][0], i + 1, number };
		watch(pipes[i][0], EPOLLIN, &program->ends[i], EPOLL_CTL_ADD);
	}
	free(strings);
}

/* Passes on what a program has written. */
static void pass_on(struct pipe_end *end)
{
	unsigned char text[1 + 1400] = { end->stream };
	ssize_t got;
	while (end->fd >= 0 && (got = read(end->fd, text + 1, sizeof text - 1)) != 0) {
		if (got < 0)
			return;
		report(WROTE, end->number, text, 1 + got);
	}
	if (end->fd >= 0)
		close(end->fd);
	end->fd = -1;
}

static void reap(void)
{
	struct signalfd_siginfo ignored;
	int status;
	pid_t process;
	while (read(children, &ignored, sizeof ignored) > 0)
		;
	while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
		struct program *program = programs;
		while (program && program->process != process)
			program = program->next;
		/* A process that a program has left behind is nobody's. */
		if (!program)
			continue;
		pass_on(&program->ends[0]);
		pass_on(&program->ends[1]);
		program->process = 0;
		report(ENDED, program->number, &status, sizeof status);
	}
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
		return;
	case TEXT:
		memcpy(&number, order + 1, 4);
		return add_text(number, order + 5, bytes - 5);
	case RUN:
		memcpy(&number, order + 1, 4);
		return run_program(number);
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
	poller = epoll_create1(EPOLL_CLOEXEC);
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
			else if (events[i].data.ptr == &children)
				reap();
			else if (flow->side == WRITTEN)
				pass_on((struct pipe_end *)flow);
			else if (flow->side == SENDER)
				sender_event(flow, events[i].events);
			else
				read_some(flow);
		}
	}
}
