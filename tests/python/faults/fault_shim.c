/* Fails one file operation of a process, chosen by its number; preloaded before the C library.

   What counts: open, write, fsync, ftruncate, rename, mkdir, unlink, rmdir, flock and close, in all
   their forms, on paths under FAULT_UNDER, from 1 on, in processes whose command line contains
   FAULT_ROLE. FAULT_AT is the operation that fails, FAULT_KIND how: an errno; 0: the process is
   killed before it; -1: a write takes a part only, which is no error; -2: killed after half a
   write. With FAULT_LASTING every later one fails as well, as on a disk that stays full. FAULT_MARK
   is a file that gets the name of the operation; while it exists nothing else fails. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KILL = 0, SHORT = -1, TORN = -2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char under[PATH_MAX];
static char mark[PATH_MAX];
static int at = 0, kind = KILL, lasting = 0, seen = 0, fired = 0;

void fault_arm(int number, int how, int for_good) {
    at = number;
    kind = how;
    lasting = for_good;
    seen = fired = 0;
}

int fault_seen(void) { return seen; }
int fault_fired(void) { return fired; }

static void copy(char *to, const char *from) {
    if (from) snprintf(to, PATH_MAX, "%s", from);
}

__attribute__((constructor)) static void start(void) {
    char line[4096] = "";
    const char *role = getenv("FAULT_ROLE");
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY, 0);
    long length = syscall(SYS_read, fd, line, sizeof line - 1);
    syscall(SYS_close, fd);
    for (long i = 0; i < length - 1; i++)
        if (!line[i]) line[i] = ' ';
    if (role && !strstr(line, role)) return;
    copy(under, getenv("FAULT_UNDER"));
    copy(mark, getenv("FAULT_MARK"));
    if (getenv("FAULT_AT"))
        fault_arm(atoi(getenv("FAULT_AT")), atoi(getenv("FAULT_KIND")), getenv("FAULT_LASTING") != NULL);
}

static int is_under(const char *path) {
    size_t length = strlen(under);
    return length && !strncmp(path, under, length) && (path[length] == '/' || !path[length]);
}

static int fd_is_under(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_under(path);
}

static int path_is_under(int directory, const char *path) {
    char start[64], whole[PATH_MAX * 2];
    if (path[0] == '/') return is_under(path);
    if (directory == AT_FDCWD) snprintf(start, sizeof start, "/proc/self/cwd");
    else snprintf(start, sizeof start, "/proc/self/fd/%d", directory);
    long length = syscall(SYS_readlinkat, AT_FDCWD, start, whole, PATH_MAX - 1);
    if (length < 0) return 0;
    snprintf(whole + length, sizeof whole - (size_t)length, "/%s", path);
    return is_under(whole);
}

/* How this operation ends: SHORT, TORN, an errno, or 1 << 20 for well. */
enum { WELL = 1 << 20 };

static int verdict(int here, const char *name, int is_write) {
    int saved = errno, result = WELL;
    if (!under[0] || !here) { errno = saved; return WELL; }
    pthread_mutex_lock(&guard);
    seen++;
    int due = at && (seen == at || (lasting && seen > at));
    if (due && (kind == SHORT || kind == TORN) && !is_write) {
        if (mark[0]) at++; /* the next write, then */
        due = 0;
    }
    if (due) fired++;
    if (due && mark[0]) {
        int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (lasting ? 0 : O_EXCL);
        int fd = (int)syscall(SYS_openat, AT_FDCWD, mark, flags, 0666);
        if (fd >= 0) {
            syscall(SYS_write, fd, name, strlen(name));
            syscall(SYS_write, fd, "\n", 1);
            syscall(SYS_close, fd);
        } else due = 0;
    }
    pthread_mutex_unlock(&guard);
    if (due && kind == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    if (due) result = kind;
    errno = saved;
    return result;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAILS(here, name) int v = verdict(here, name, 0); if (v != WELL) { errno = v; return -1; }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        FAILS(path_is_under(AT_FDCWD, path), "open") return real(path, flags, mode); }
OPEN(open) OPEN(open64)

#define OPENAT(name) \
    int name(int d, const char *path, int flags, ...) { \
        REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        FAILS(path_is_under(d, path), "open") return real(d, path, flags, mode); }
OPENAT(openat) OPENAT(openat64)

static ssize_t cut(int v, int fd, const void *data, size_t size, ssize_t (*real)(int, const void *, size_t)) {
    if (v == SHORT) return real(fd, data, size > 1 ? size / 2 : size);
    if (v == TORN) { real(fd, data, size / 2); syscall(SYS_kill, getpid(), SIGKILL); }
    errno = v;
    return -1;
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    int v = verdict(fd_is_under(fd), "write", 1);
    return v == WELL ? real(fd, data, size) : cut(v, fd, data, size, real);
}

#define PWRITE(name, off) \
    ssize_t name(int fd, const void *data, size_t size, off where) { \
        REAL(name); FAILS(fd_is_under(fd), "write") return real(fd, data, size, where); }
PWRITE(pwrite, off_t) PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev); FAILS(fd_is_under(fd), "write") return real(fd, parts, count); }
int fsync(int fd) { REAL(fsync); FAILS(fd_is_under(fd), "fsync") return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); FAILS(fd_is_under(fd), "fsync") return real(fd); }
int ftruncate(int fd, off_t size) { REAL(ftruncate); FAILS(fd_is_under(fd), "truncate") return real(fd, size); }
int ftruncate64(int fd, off64_t size) { REAL(ftruncate64); FAILS(fd_is_under(fd), "truncate") return real(fd, size); }
int flock(int fd, int how) { REAL(flock); FAILS(fd_is_under(fd), "lock") return real(fd, how); }
int rename(const char *a, const char *b) {
    REAL(rename); FAILS(path_is_under(AT_FDCWD, b), "rename") return real(a, b); }
int renameat(int d, const char *a, int e, const char *b) {
    REAL(renameat); FAILS(path_is_under(e, b), "rename") return real(d, a, e, b); }
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir); FAILS(path_is_under(AT_FDCWD, path), "mkdir") return real(path, mode); }
int mkdirat(int d, const char *path, mode_t mode) {
    REAL(mkdirat); FAILS(path_is_under(d, path), "mkdir") return real(d, path, mode); }
int unlink(const char *path) {
    REAL(unlink); FAILS(path_is_under(AT_FDCWD, path), "unlink") return real(path); }
int unlinkat(int d, const char *path, int flags) {
    REAL(unlinkat); FAILS(path_is_under(d, path), "unlink") return real(d, path, flags); }
int rmdir(const char *path) {
    REAL(rmdir); FAILS(path_is_under(AT_FDCWD, path), "rmdir") return real(path); }
/* As some file systems do: what was written is lost, and closing says so. */
int close(int fd) {
    REAL(close);
    int v = verdict(fd_is_under(fd), "close", 0);
    if (v == WELL) return real(fd);
    real(fd);
    errno = v;
    return -1;
}
