#include <histedit.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <wchar.h>

/* Swift cannot call variadic functions, so each operation of el_wset and history_w has a typed function here. */

typedef int (*shim_read_function)(EditLine *, wchar_t *);
typedef unsigned char (*shim_edit_function)(EditLine *, wint_t);

static inline int shim_set_client(EditLine *e, void *client) { return el_wset(e, EL_CLIENTDATA, client); }
static inline void *shim_client(EditLine *e) {
    void *client = NULL;
    el_wget(e, EL_CLIENTDATA, &client);
    return client;
}
static inline int shim_set_editor(EditLine *e, const wchar_t *mode) { return el_wset(e, EL_EDITOR, mode); }
static inline int shim_set_signals(EditLine *e, int on) { return el_wset(e, EL_SIGNAL, on); }
static inline int shim_set_reader(EditLine *e, shim_read_function read) { return el_wset(e, EL_GETCFN, read); }
static inline int shim_set_history(EditLine *e, HistoryW *h) { return el_wset(e, EL_HIST, history_w, h); }
static inline int shim_bind(EditLine *e, const wchar_t *key, const wchar_t *command) {
    return el_wset(e, EL_BIND, key, command, NULL);
}
static inline int shim_bind_in_command_mode(EditLine *e, const wchar_t *key, const wchar_t *command) {
    return el_wset(e, EL_BIND, L"-a", key, command, NULL);
}
static inline int shim_uses_vi_keys(EditLine *e) {
    const wchar_t *mode = NULL;
    return el_wget(e, EL_EDITOR, &mode) == 0 && mode && mode[0] == L'v';
}
/* libedit keeps the pointers to the name and the help text. */
static inline int shim_add_function(EditLine *e, const wchar_t *name, const wchar_t *help, shim_edit_function f) {
    return el_wset(e, EL_ADDFN, name, help, f);
}
/* While a line is edited the terminal sends no signals: Ctrl-C, Ctrl-Z and Ctrl-\ arrive as characters, and so do
   Ctrl-S and Ctrl-Q. */
static inline int shim_disable_terminal_signals(EditLine *e) {
    return el_wset(e, EL_SETTY, L"-d", L"-isig", L"-ixon", NULL);
}
static inline int shim_prepare_terminal(EditLine *e, int on) { return el_wset(e, EL_PREP_TERM, on); }

static inline int shim_history_set_size(HistoryW *h, int size) {
    HistEventW event;
    return history_w(h, &event, H_SETSIZE, size);
}
static inline int shim_history_set_unique(HistoryW *h, int unique) {
    HistEventW event;
    return history_w(h, &event, H_SETUNIQUE, unique);
}
static inline int shim_history_enter(HistoryW *h, const wchar_t *line) {
    HistEventW event;
    return history_w(h, &event, H_ENTER, line);
}

/* Output streams of the C library that pass written data to a function. */

typedef ssize_t (*shim_write_function)(void *cookie, const char *bytes, size_t count);

#ifdef __linux__
#include <bits/types/cookie_io_functions_t.h>
/* glibc declares this function only under _GNU_SOURCE, which an importer cannot set for a header that has been read
   already. */
extern FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);

static inline FILE *shim_open_writer(void *cookie, shim_write_function write) {
    cookie_io_functions_t functions = {NULL, write, NULL, NULL};
    return fopencookie(cookie, "w", functions);
}
static inline void shim_replace_streams(FILE *output, FILE *error) {
    if (output) { setvbuf(output, NULL, _IOLBF, BUFSIZ); stdout = output; }
    if (error) { setvbuf(error, NULL, _IONBF, 0); stderr = error; }
}
#else
static inline FILE *shim_open_writer(void *cookie, shim_write_function write) { return NULL; }
static inline void shim_replace_streams(FILE *output, FILE *error) {}
#endif
static inline void shim_flush_output(void) { fflush(stdout); }

/* glibc declares this function only under _XOPEN_SOURCE. */
extern int wcwidth(wchar_t character);
static inline int shim_character_width(wchar_t character) { return wcwidth(character); }

/* A UTF-8 locale, created once and never freed; zero if the system has none. */
static inline locale_t shim_utf8(void) {
    static _Atomic(locale_t) known;
    locale_t locale = known;
    if (locale) return locale;
    locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!locale) locale = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
    locale_t other = (locale_t)0;
    if (locale && !atomic_compare_exchange_strong(&known, &other, locale)) {
        freelocale(locale);
        locale = other;
    }
    return locale;
}
/* Sets a UTF-8 locale for the calling thread only. The process keeps the locale that scripts written for `lua` expect.
   */
static inline void shim_use_utf8(void) {
    if (shim_utf8()) uselocale(shim_utf8());
}
/* Sets the same locale until `leave`, which takes the result of `enter`. */
static inline void *shim_enter_utf8(void) { return (void *)uselocale(shim_utf8()); }
static inline void shim_leave_utf8(void *before) { uselocale((locale_t)before); }
