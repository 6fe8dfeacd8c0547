/* Unix sockets for processes of one user, and TCP sockets of this machine only. Each function returns a descriptor or 0, or a negative errno. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static inline int shim_local_socket(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static inline int shim_local_close(int fd, int result) {
    close(fd);
    return result;
}

static inline int shim_local_connect(const char *path) {
    struct sockaddr_un address;
    int fd = shim_local_socket(path, &address);
    if (fd < 0) return fd;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return shim_local_close(fd, -errno);
    return fd;
}

/* The file is created with permissions for its owner only, so no other user can connect at any time. */
static inline int shim_local_listen(const char *path) {
    struct sockaddr_un address;
    int fd = shim_local_socket(path, &address);
    if (fd < 0) return fd;
    fchmod(fd, 0600);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) return shim_local_close(fd, -errno);
    if (chmod(path, 0600) != 0 || listen(fd, 8) != 0) return shim_local_close(fd, -errno);
    return fd;
}

static inline int shim_local_accept(int fd) {
    int client = accept(fd, NULL, NULL);
    if (client < 0) return -errno;
    fcntl(client, F_SETFD, FD_CLOEXEC);
    return client;
}

/* Listens on 127.0.0.1; port 0 takes a free port. */
static inline int shim_loopback_listen(uint16_t port, uint16_t *bound) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) return shim_local_close(fd, -errno);
    if (listen(fd, 64) != 0) return shim_local_close(fd, -errno);
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return shim_local_close(fd, -errno);
    *bound = ntohs(address.sin_port);
    return fd;
}

/* Sends each write at once: with Nagle's algorithm, a second frame waits 40 ms. */
static inline void shim_send_at_once(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static inline int shim_local_peer(int fd, uint32_t *user) {
#ifdef SO_PEERCRED
    struct { pid_t process; uid_t user; gid_t group; } peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -errno;
    *user = peer.user;
#else
    uid_t id;
    gid_t group;
    if (getpeereid(fd, &id, &group) != 0) return -errno;
    *user = id;
#endif
    return 0;
}

static inline long shim_local_send(int fd, const void *bytes, size_t count) {
#ifdef MSG_NOSIGNAL
    return send(fd, bytes, count, MSG_NOSIGNAL);
#else
    return send(fd, bytes, count, 0);
#endif
}

/* Returns 1 for a socket of this user, 2 for a folder of this user that no other user can enter, 0 for anything else.
   */
static inline int shim_local_kind(const char *path) {
    struct stat info;
    if (lstat(path, &info) != 0) return -errno;
    if (info.st_uid != geteuid()) return 0;
    if (S_ISSOCK(info.st_mode)) return 1;
    return S_ISDIR(info.st_mode) && !(info.st_mode & 077) ? 2 : 0;
}
