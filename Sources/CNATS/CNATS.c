#include "CNATS.h"

#include <COptionalLibraries.h>
#include <stddef.h>

static const char *const names[] = {
#ifdef __APPLE__
    "libnats.dylib", "/opt/homebrew/lib/libnats.dylib",
#else
    "libnats.so.3.4", "libnats.so.3.7", "libnats.so.3.8", "libnats.so.3.9", "libnats.so.3.10", "libnats.so.3.11",
    "libnats.so.3", "libnats.so",
#endif
    NULL,
};

bool nats_load(NatsFunctions *functions) {
    const OptionalFunction table[] = {
        {"natsOptions_Create", &functions->options_create},
        {"natsOptions_Destroy", &functions->options_destroy},
        {"natsOptions_SetServers", &functions->options_set_servers},
        {"natsOptions_SetName", &functions->options_set_name},
        {"natsOptions_SetTimeout", &functions->options_set_timeout},
        {"natsOptions_SetAllowReconnect", &functions->options_set_allow_reconnect},
        {"natsOptions_SetUserCredentialsFromFiles", &functions->options_set_credentials},
        {"natsOptions_SetToken", &functions->options_set_token},
        {"natsOptions_SetUserInfo", &functions->options_set_user},
        {"natsOptions_SetSecure", &functions->options_set_secure},
        {"natsOptions_LoadCATrustedCertificates", &functions->options_load_authority},
        {"natsOptions_LoadCertificatesChain", &functions->options_load_certificate},
        {"natsOptions_SetPingInterval", &functions->options_set_ping_interval},
        {"natsConnection_Connect", &functions->connect},
        {"natsConnection_Close", &functions->close},
        {"natsConnection_Destroy", &functions->destroy},
        {"natsConnection_Status", &functions->status},
        {"natsConnection_FlushTimeout", &functions->flush},
        {"natsConnection_GetMaxPayload", &functions->max_payload},
        {"natsConnection_PublishMsg", &functions->publish},
        {"natsConnection_Request", &functions->request},
        {"natsConnection_SubscribeSync", &functions->subscribe},
        {"natsConnection_QueueSubscribeSync", &functions->queue_subscribe},
        {"natsSubscription_NextMsg", &functions->next_message},
        {"natsSubscription_SetPendingLimits", &functions->set_pending_limits},
        {"natsSubscription_Drain", &functions->subscription_drain},
        {"natsSubscription_Unsubscribe", &functions->unsubscribe},
        {"natsSubscription_Destroy", &functions->subscription_destroy},
        {"natsMsg_Create", &functions->message_create},
        {"natsMsg_Destroy", &functions->message_destroy},
        {"natsMsg_GetSubject", &functions->message_subject},
        {"natsMsg_GetReply", &functions->message_reply},
        {"natsMsg_GetData", &functions->message_data},
        {"natsMsg_GetDataLength", &functions->message_count},
        {"natsMsgHeader_Set", &functions->header_set},
        {"natsMsgHeader_Get", &functions->header_get},
        {"natsInbox_Create", &functions->inbox_create},
        {"natsInbox_Destroy", &functions->inbox_destroy},
        {"natsStatus_GetText", &functions->status_text},
        {"nats_GetLastError", &functions->last_error},
    };
    return optional_library_load(names, table, sizeof table / sizeof table[0]);
}
