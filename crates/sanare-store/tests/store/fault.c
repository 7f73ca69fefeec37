/* Stands between the store and the disk in a test's child process (LD_PRELOAD): fails the n-th write or sync to the files
 * of a store, and writes down every write, cut, removal and sync, and every line of the file `acks`, in order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_fsync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);
static int log_fd = -1;
static long writes, syncs, fail_write, fail_sync;
static int write_error, sync_error, for_ever;

__attribute__((constructor)) static void begin(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    const char *text = getenv("STORE_TEST_FAIL_WRITE");
    if (text) sscanf(text, "%ld %d %d", &fail_write, &write_error, &for_ever);
    text = getenv("STORE_TEST_FAIL_SYNC");
    if (text) sscanf(text, "%ld %d", &fail_sync, &sync_error);
    text = getenv("STORE_TEST_LOG");
    if (text) log_fd = open(text, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

/* The name of a file that is watched; NULL for any other. What lies in shared memory is no disk. */
static const char *watched(int fd, char *place, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, place, size - 1);
    if (length <= 0) return NULL;
    place[length] = 0;
    const char *name = strrchr(place, '/');
    name = name ? name + 1 : place;
    if (!strcmp(name, "acks")) return name;
    if (strncmp(name, "store.db", 8) || strstr(name, "-shm")) return NULL;
    return name;
}

static void put(char kind, const char *name, uint64_t at, const void *bytes, uint64_t length) {
    if (log_fd < 0) return;
    uint64_t head[3] = {strlen(name), at, length};
    real_write(log_fd, &kind, 1);
    real_write(log_fd, head, sizeof head);
    real_write(log_fd, name, head[0]);
    if (bytes) real_write(log_fd, bytes, length);
}

static int fails(const char *name) {
    if (!strcmp(name, "acks")) return 0;
    writes++;
    return fail_write && (writes == fail_write || (for_ever && writes > fail_write));
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    char place[4096];
    const char *name = watched(fd, place, sizeof place);
    if (!name) return real_pwrite(fd, bytes, length, at);
    pthread_mutex_lock(&one);
    ssize_t done = -1;
    if (fails(name)) {
        errno = write_error;
    } else {
        done = real_pwrite(fd, bytes, length, at);
        if (done > 0) put('w', name, at, bytes, done);
    }
    pthread_mutex_unlock(&one);
    return done;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    char place[4096];
    const char *name = fd == log_fd ? NULL : watched(fd, place, sizeof place);
    if (!name) return real_write(fd, bytes, length);
    pthread_mutex_lock(&one);
    ssize_t done = -1;
    if (fails(name)) {
        errno = write_error;
    } else {
        off64_t at = lseek64(fd, 0, SEEK_CUR);
        done = real_write(fd, bytes, length);
        if (done > 0) put(strcmp(name, "acks") ? 'w' : 'a', name, at, bytes, done);
    }
    pthread_mutex_unlock(&one);
    return done;
}

static int synced(int fd) {
    char place[4096];
    const char *name = watched(fd, place, sizeof place);
    if (!name) return real_fsync(fd);
    pthread_mutex_lock(&one);
    int done = real_fsync(fd);
    if (++syncs == fail_sync) {
        errno = sync_error;
        done = -1;
    } else {
        put('s', name, 0, NULL, 0);
    }
    pthread_mutex_unlock(&one);
    return done;
}

int fsync(int fd) { return synced(fd); }
int fdatasync(int fd) { return synced(fd); }

int ftruncate64(int fd, off64_t length) {
    char place[4096];
    const char *name = watched(fd, place, sizeof place);
    int done = real_ftruncate(fd, length);
    if (name && !done) {
        pthread_mutex_lock(&one);
        put('t', name, length, NULL, 0);
        pthread_mutex_unlock(&one);
    }
    return done;
}

int unlink(const char *path) {
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    int done = real_unlink(path);
    if (!done && !strncmp(name, "store.db", 8) && !strstr(name, "-shm")) {
        pthread_mutex_lock(&one);
        put('u', name, 0, NULL, 0);
        pthread_mutex_unlock(&one);
    }
    return done;
}
