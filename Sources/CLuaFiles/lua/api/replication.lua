---@meta
-- Recordings, streams and services.

---A recording of commits to a file, created by store:record.
---@class moonpool.Recording
---@help recording
---@field path string The path of the file.
---@field is_active boolean Whether commits are still recorded.
---@field steps integer The number of recorded commits or groups of commits.
local Recording = {}

---Stops the recording.
---
---```lua
---local recording = store:record("changes.jsonl")
---recording:stop()
---print(recording.is_active)  --> false
---```
function Recording:stop() end

---The options of store:record.
---
---```lua
---local recording = store:record("zoo.jsonl", { snapshot = true, old_values = false })
---store:write(function() rex.age = 8 end)
---recording:stop()
---local copy = moonpool.open { in_memory = "copy of the zoo" }
---moonpool.replay("zoo.jsonl", copy)
---print(#copy:objects "Dog", copy:object("Dog", 1).age)  --> 2 8
---```
---@class moonpool.RecordOptions
---@help record options
---Begins with all objects, so that a replay into an empty store creates a copy. Default: false.
---@field snapshot? boolean
---@field old_values? boolean Also records the values before a change. Default: true.

---A running publisher, follower or member of a cluster, created by store:publish, store:follow or store:cluster.
---@class moonpool.Replication
---@help replication
---@field role string The task: publisher or follower; for a member of a cluster, writer or follower.
---@field stream string The stream that is published or followed.
---@field is_running boolean Whether publishing or following continues; also true if no server can currently be reached.
---@field is_connected boolean Whether a server is connected.
---@field position integer The sequence number of the last message that the stream holds, or that was applied.
---@field version integer The publisher's version after this message.
---@field commits integer The number of commits and snapshots that were published or applied.
---@field skipped integer The number of messages that were ignored, because Moonpool has not written them for this store.
---@field lag integer The number of versions that are not published, or of messages that are not applied.
---@field rate number Commits per second, over the last seconds.
---@field last_error? string The last error; nil if there was none.
local Replication = {}

---Stops publishing or following. A follower's store remains read-only.
---
---```lua
---local function pause(replication)
---  replication:stop()
---  return replication.is_running
---end
---print(type(pause))  --> function
---```
function Replication:stop() end

---Waits until the stream contains all commits of the store, or the store has all commits of the stream. Returns false
---after a timeout in seconds (default 30).
---
---Errors: closed
---
---```lua
---local function sync(replication) return replication:wait(5) end
---print(type(sync))  --> function
---```
---@param seconds? number
---@return boolean
function Replication:wait(seconds) end

---The options of store:publish.
---
---```lua
---local options = { url = "nats://a:4222,nats://b:4222", stream = "zoo", replicas = 3, acknowledged = true }
---print((pcall(store.publish, store, options)))  --> false
---```
---@class moonpool.PublishOptions
---@help publish options
---@field url string The addresses of NATS servers, separated by commas: nats://host:4222 or tls://host:4222.
---@field stream string The name of the stream: letters, digits, '-' and '_'.
---@field credentials? string A file with a user's JWT and seed.
---@field token? string A token, unless the address has one.
---@field user? string The user, unless the address has one.
---@field password? string The user's password.
---@field password_file? string A file with the password, which each connection reads.
---@field token_file? string A file with the token, which each connection reads.
---@field tls_ca? string A file with trusted certificates, for TLS.
---@field tls_cert? string A file with the client's certificate, for TLS.
---@field tls_key? string A file with the key of tls_cert.
---@field replicas? integer The number of servers of a cluster that store the stream, if it is created. Default: 1.
---@field snapshot_every? integer The number of commits after which another snapshot is published. Default: 100000.
---Makes each write of the script wait until the stream contains it; after half a minute the write raises
---limit_exceeded, and remains committed.
---@field acknowledged? boolean
---@field schema? string The schema of a PostgreSQL database that holds the tables; public if not given.
---@field replace? boolean For PostgreSQL: drops existing tables of the classes. Default: existing tables are an error.

---The options of store:follow.
---
---```lua
---local options = { url = "tls://host:4222", stream = "zoo", user = "ann", password = "secret" }
---print((pcall(store.follow, store, options)))  --> false
---```
---@class moonpool.FollowOptions
---@help follow options
---@shares PublishOptions: url, stream, credentials, token, user, password, password_file, token_file, tls_ca, tls_cert, tls_key

---The options of store:cluster.
---
---```lua
---local options = { url = "nats://a,b,c", stream = "zoo", name = "north", acknowledged = true }
---print((pcall(store.cluster, store, options)))  --> false
---```
---@class moonpool.ClusterOptions
---@help cluster options
---@shares PublishOptions: url, stream, credentials, token, user, password, password_file, token_file, tls_ca, tls_cert, tls_key, snapshot_every
---@field replicas? integer The number of servers that store the stream, if it is created. Default: 3 of 3 or more servers.
---@field lease? number The seconds without a renewal after which another member takes the lease. Default: 3.
---@field name? string The name of this member. Default: the names of the machine and the process.
---Makes each write of the script wait until most servers of the stream have stored it. If another member becomes the
---writer first, the write raises not_writer, and may be lost.
---@field acknowledged? boolean

---The options of store:remote_write.
---
---```lua
---local ok, err = pcall(store.remote_write, store, "feed", nil, { timeout = -1 })
---print(err.code)  --> invalid_argument
---```
---@class moonpool.RemoteWriteOptions
---@help remote write options
---@field timeout? number The time limit in seconds. Default: 5.

---A running service, created by moonpool.serve. It runs until it is stopped, even if the script releases the value.
---@class moonpool.Service
---@help service
---@field subject string The subject.
---@field requests integer The number of answered requests, including those answered with an error.
---@field is_running boolean Whether the service has not been stopped, even if no server can be reached at the moment.
---@field is_connected boolean Whether a server is connected.
---@field last_error? string The last error of the connection; nil if there was none.
local Service = {}

---Stops the service. Waiting requests are rejected with the code unavailable.
---
---```lua
---local function pause(service)
---  service:stop()
---  return service.is_running
---end
---print(type(pause))  --> function
---```
function Service:stop() end

---The options of moonpool.serve.
---
---```lua
---local options = {
---  url = "nats://localhost:4222", subject = "zoo.>",
---  handler = function(request) return request.subject .. " received" end,
---}
---print(options.handler { subject = "zoo.feed" })  --> zoo.feed received
---```
---@class moonpool.ServeOptions
---@help serve options
---@shares PublishOptions: url, credentials, token, user, password, password_file, token_file, tls_ca, tls_cert, tls_key
---The subject: words between dots. `*` matches any word, and `>` at the end matches one or more words.
---@field subject string
---The function that is called for each request and returns the reply: any value that JSON can represent.
---@field handler fun(request: moonpool.ServiceRequest): any
---A member of a cluster, instead of url and subject: the handler runs in a write transaction of the store, while it is the
---writer.
---@field store? moonpool.Store
---@field name? string With store, the name that store:remote_write uses.

---The argument of a service's handler.
---
---```lua
---local function handler(request) return { subject = request.subject, size = #request.body } end
---print(handler({ subject = "zoo.add", body = { 1, 2 } }).size)  --> 2
---```
---@class moonpool.ServiceRequest
---@help service request
---@field subject string The subject that the requester used.
---@field body any The value that the requester sent; nil if none.

---The options of moonpool.request.
---
---```lua
---local options = { url = "nats://localhost:4222", subject = "zoo.write", body = { name = "Rex" }, timeout = -1 }
---print((pcall(moonpool.request, options)))  --> false
---```
---@class moonpool.RequestOptions
---@help request options
---@shares PublishOptions: url, credentials, token, user, password, password_file, token_file, tls_ca, tls_cert, tls_key
---@field subject string The subject: words between dots.
---@field body any The value to send: any value that JSON can represent, including objects and collections.
---@field timeout? number The time limit for the reply in seconds. Default: 5.
