// The NATS client library, loaded at run time: programs build and run without it until they connect to NATS.
//
// The declarations repeat the functions of libnats 3 that Moonpool calls. None of them takes a structure whose
// layout depends on the version: JetStream is used through its documented subjects.

#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct __natsConnection NatsConnectionHandle;
typedef struct __natsOptions NatsOptionsHandle;
typedef struct __natsSubscription NatsSubscriptionHandle;
typedef struct __natsMsg NatsMessageHandle;

/// The functions of the library; each returns 0 for success.
typedef struct {
    int (*options_create)(NatsOptionsHandle **);
    void (*options_destroy)(NatsOptionsHandle *);
    int (*options_set_servers)(NatsOptionsHandle *, const char **servers, int count);
    int (*options_set_name)(NatsOptionsHandle *, const char *);
    int (*options_set_timeout)(NatsOptionsHandle *, int64_t milliseconds);
    int (*options_set_allow_reconnect)(NatsOptionsHandle *, bool);
    int (*options_set_credentials)(NatsOptionsHandle *, const char *file, const char *seed_file);
    int (*options_set_token)(NatsOptionsHandle *, const char *);
    int (*options_set_user)(NatsOptionsHandle *, const char *user, const char *password);
    int (*options_set_secure)(NatsOptionsHandle *, bool);
    int (*options_load_authority)(NatsOptionsHandle *, const char *file);
    int (*options_load_certificate)(NatsOptionsHandle *, const char *certificate, const char *key);
    int (*options_set_ping_interval)(NatsOptionsHandle *, int64_t milliseconds);

    int (*connect)(NatsConnectionHandle **, NatsOptionsHandle *);
    void (*close)(NatsConnectionHandle *);  // ends the thread that reads
    void (*destroy)(NatsConnectionHandle *);
    int (*status)(NatsConnectionHandle *);
    int (*flush)(NatsConnectionHandle *, int64_t milliseconds);
    int64_t (*max_payload)(NatsConnectionHandle *);
    int (*publish)(NatsConnectionHandle *, NatsMessageHandle *);
    int (*request)(NatsMessageHandle **reply, NatsConnectionHandle *, const char *subject, const void *data, int count,
                   int64_t milliseconds);

    int (*subscribe)(NatsSubscriptionHandle **, NatsConnectionHandle *, const char *subject);
    int (*queue_subscribe)(NatsSubscriptionHandle **, NatsConnectionHandle *, const char *subject, const char *group);
    int (*next_message)(NatsMessageHandle **, NatsSubscriptionHandle *, int64_t milliseconds);
    int (*set_pending_limits)(NatsSubscriptionHandle *, int messages, int bytes);
    int (*subscription_drain)(NatsSubscriptionHandle *);
    int (*unsubscribe)(NatsSubscriptionHandle *);
    void (*subscription_destroy)(NatsSubscriptionHandle *);

    int (*message_create)(NatsMessageHandle **, const char *subject, const char *reply, const char *data, int count);
    void (*message_destroy)(NatsMessageHandle *);
    const char *(*message_subject)(const NatsMessageHandle *);
    const char *(*message_reply)(const NatsMessageHandle *);
    const char *(*message_data)(const NatsMessageHandle *);
    int (*message_count)(const NatsMessageHandle *);
    int (*header_set)(NatsMessageHandle *, const char *name, const char *value);
    int (*header_get)(NatsMessageHandle *, const char *name, const char **value);

    int (*inbox_create)(char **);
    void (*inbox_destroy)(char *);
    const char *(*status_text)(int status);
    const char *(*last_error)(int *status);  // of the calling thread
} NatsFunctions;

/// Loads the library and fills in its functions.
///
/// Returns false if the library is not installed or lacks a function.
bool nats_load(NatsFunctions *functions);
