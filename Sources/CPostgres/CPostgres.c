#include "CPostgres.h"

#include <dlfcn.h>
#include <stddef.h>

#ifdef __APPLE__
static const char *const names[] = {"libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", NULL};
#else
static const char *const names[] = {"libpq.so.5", NULL};
#endif

static void *open_library(void) {
    for (int i = 0; names[i] != NULL; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) return library;
    }
    return NULL;
}

bool postgres_load(PostgresFunctions *functions) {
    void *library = open_library();
    if (library == NULL) return false;
    const struct {
        const char *name;
        void *target;
    } symbols[] = {
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
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL) {
            dlclose(library);
            return false;
        }
        *(void **)symbols[i].target = symbol;
    }
    return true;
}

static void drop(void *context, const char *message) {
    (void)context;
    (void)message;
}

void postgres_drop_notices(const PostgresFunctions *functions, PostgresHandle *connection) {
    functions->set_notice_processor(connection, drop, NULL);
}
