// libpq, loaded at run time: programs build and run without it until they connect to PostgreSQL.
//
// The declarations repeat the part of libpq's stable interface (SONAME 5) that Moonpool calls.

#pragma once

#include <stdbool.h>

typedef struct pg_conn PostgresHandle;
typedef struct pg_result PostgresResult;

/// Values of libpq's enumerations ConnStatusType and ExecStatusType.
enum {
    POSTGRES_CONNECTED = 0,
    POSTGRES_EMPTY_QUERY = 0,
    POSTGRES_COMMAND_OK = 1,
    POSTGRES_TUPLES_OK = 2,
    POSTGRES_COPY_OUT = 3,
    POSTGRES_COPY_IN = 4,
};

/// The functions of libpq.
typedef struct {
    PostgresHandle *(*connect)(const char *const *keywords, const char *const *values, int expand_dbname);
    void (*finish)(PostgresHandle *);
    int (*status)(const PostgresHandle *);
    char *(*error_message)(const PostgresHandle *);
    int (*server_version)(const PostgresHandle *);
    int (*transaction_status)(const PostgresHandle *);
    PostgresResult *(*exec)(PostgresHandle *, const char *sql);
    PostgresResult *(*exec_params)(
        PostgresHandle *, const char *sql, int count, const unsigned *types, const char *const *values,
        const int *lengths, const int *formats, int result_format);
    int (*result_status)(const PostgresResult *);
    char *(*result_error_field)(const PostgresResult *, int field);
    char *(*result_error_message)(const PostgresResult *);
    int (*row_count)(const PostgresResult *);
    int (*column_count)(const PostgresResult *);
    char *(*value)(const PostgresResult *, int row, int column);
    int (*length)(const PostgresResult *, int row, int column);
    int (*is_null)(const PostgresResult *, int row, int column);
    void (*clear)(PostgresResult *);
    PostgresResult *(*get_result)(PostgresHandle *);
    int (*put_copy_data)(PostgresHandle *, const char *buffer, int count);
    int (*put_copy_end)(PostgresHandle *, const char *error);
    int (*get_copy_data)(PostgresHandle *, char **buffer, int async);
    void (*free_memory)(void *);
    void (*(*set_notice_processor)(PostgresHandle *, void (*)(void *, const char *), void *))(void *, const char *);
} PostgresFunctions;

/// Loads libpq and fills in its functions.
///
/// Returns false if the library is not installed or lacks a function.
bool postgres_load(PostgresFunctions *functions);

/// Drops the notices of a connection, which libpq would print on standard error.
void postgres_drop_notices(const PostgresFunctions *functions, PostgresHandle *connection);
