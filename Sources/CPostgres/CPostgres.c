#include "CPostgres.h"

#include <COptionalLibraries.h>
#include <stddef.h>

#ifdef __APPLE__
static const char *const names[] = {"libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", NULL};
#else
static const char *const names[] = {"libpq.so.5", NULL};
#endif

bool postgres_load(PostgresFunctions *functions) {
    const OptionalFunction table[] = {
        {"PQconnectdbParams", &functions->connect},
        {"PQfinish", &functions->finish},
        {"PQstatus", &functions->status},
        {"PQerrorMessage", &functions->error_message},
        {"PQserverVersion", &functions->server_version},
        {"PQtransactionStatus", &functions->transaction_status},
        {"PQexec", &functions->exec},
        {"PQexecParams", &functions->exec_params},
        {"PQresultStatus", &functions->result_status},
        {"PQresultErrorField", &functions->result_error_field},
        {"PQresultErrorMessage", &functions->result_error_message},
        {"PQntuples", &functions->row_count},
        {"PQnfields", &functions->column_count},
        {"PQgetvalue", &functions->value},
        {"PQgetlength", &functions->length},
        {"PQgetisnull", &functions->is_null},
        {"PQclear", &functions->clear},
        {"PQgetResult", &functions->get_result},
        {"PQputCopyData", &functions->put_copy_data},
        {"PQputCopyEnd", &functions->put_copy_end},
        {"PQgetCopyData", &functions->get_copy_data},
        {"PQfreemem", &functions->free_memory},
        {"PQsetNoticeProcessor", &functions->set_notice_processor},
    };
    return optional_library_load(names, table, sizeof table / sizeof table[0]);
}

static void drop(void *context, const char *message) {
    (void)context;
    (void)message;
}

void postgres_drop_notices(const PostgresFunctions *functions, PostgresHandle *connection) {
    functions->set_notice_processor(connection, drop, NULL);
}
