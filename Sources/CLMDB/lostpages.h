#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Reading a page of a mapped file raises a signal if the page no longer exists. The handler of the signal may call
   little besides system calls. */

struct shim_lost_pages {
    const char *program;
    struct termios terminal;
    int has_terminal;
    int status;
    atomic_flag is_ending;
};

static inline struct shim_lost_pages *shim_lost_pages_state(void) {
    static struct shim_lost_pages state = { .is_ending = ATOMIC_FLAG_INIT };
    return &state;
}

static inline const char *shim_lost_pages_number(const char *text, unsigned long *number) {
    for (*number = 0; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
        *number = *number * 16 + (unsigned long)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return text;
}

/* Reads the next line of the system's table of mappings; returns false at the end. */
static inline int shim_lost_pages_line(int table, char *line, size_t size) {
    size_t used = 0;
    while (read(table, line + used, 1) == 1) {
        if (line[used] == '\n') break;
        if (used + 1 < size) used++;
    }
    line[used] = 0;
    return used > 0;
}

/* Finds the path of the file that is mapped at an address and stores it in `line`; returns NULL if there is none. A
   line of the table is `begin-end rights offset device inode  path`, with numbers without 0x. */
static inline const char *shim_lost_pages_path(unsigned long address, char *line, size_t size) {
    int table = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (table < 0) return NULL;
    const char *path = NULL;
    while (shim_lost_pages_line(table, line, size)) {
        unsigned long begin, end;
        const char *rest = shim_lost_pages_number(line, &begin);
        shim_lost_pages_number(rest + 1, &end);
        if (address < begin || address >= end) continue;
        path = strchr(line, '/');
        break;
    }
    close(table);
    return path;
}

static inline void shim_lost_pages_say(const char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(2, text, left);
        if (written <= 0) return;
        text += written;
        left -= (size_t)written;
    }
}

static inline void shim_lost_pages_end(int number, siginfo_t *info, void *context) {
    (void)context;
    struct shim_lost_pages *state = shim_lost_pages_state();
    char line[4352];
    const char *path = shim_lost_pages_path((unsigned long)info->si_addr, line, sizeof line);
    if (!path) {
        /* If the file is unknown, restore the default action. The signal is raised again and then takes this action. */
        signal(number, SIG_DFL);
        return;
    }
    /* Other threads that read the same file get here too; only one of them prints the message. */
    if (atomic_flag_test_and_set(&state->is_ending))
        for (;;) pause();
    if (state->has_terminal) {
        signal(SIGTTOU, SIG_IGN);
        tcsetattr(0, TCSANOW, &state->terminal);
    }
    shim_lost_pages_say("\n");
    shim_lost_pages_say(state->program);
    shim_lost_pages_say(": ");
    shim_lost_pages_say(path);
    shim_lost_pages_say(" can no longer be read: it was truncated while it was open, or its device has failed; ");
    size_t length = strlen(path);
    /* A lock file contains no data, and the next process creates it again. */
    int is_lock = length > 5 && strcmp(path + length - 5, "-lock") == 0;
    shim_lost_pages_say(
        is_lock ? "end all programs that use the store, and start them again\n"
                : "restore it from a backup\n");
    _exit(state->status);
}

/* Ends the process with a message that names the file when one of its pages no longer exists. The string `program` must
   stay valid. */
static inline void shim_lost_pages_explain(const char *program, int status) {
    struct shim_lost_pages *state = shim_lost_pages_state();
    state->program = program;
    state->status = status;
    state->has_terminal = tcgetattr(0, &state->terminal) == 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = shim_lost_pages_end;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
