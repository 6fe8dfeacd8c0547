extension HelpCatalog {
    /// The functions for services that answer requests, and for requests to them.
    static let serving: [HelpEntry] = serviceMembers + servingFields

    private static let serviceMembers: [HelpEntry] = [
        .function(
            "serve", of: moonpool, ["(options: ServeOptions): Service"],
            """
            Replies to the requests of a NATS subject with the result of the handler, as JSON. Requests are handled on the \
            script's event loop, one at a time. A service keeps the script running. An error of the handler is sent with its code.
            """,
            errors: [.invalidArgument, .unavailable, .limitExceeded],
            example: """
                local function add(request)
                  return store:write(function() return store:create("Dog", request.body, "modified").name end)
                end
                local ok, service = pcall(moonpool.serve, { url = "nats://localhost:4222", subject = "zoo.add", handler = add })
                if ok then service:stop() end
                print(add { subject = "zoo.add", body = { id = 9, name = "Rex" } })  --> Rex
                """),
        .function(
            "request", of: moonpool, ["(options: RequestOptions): any"],
            """
            Sends a request to a service and returns its reply. Observers, timers and services of this script run in the meantime. An \
            error of the handler is raised here with its code and message.
            """,
            errors: [.invalidArgument, .timedOut, .unavailable, .limitExceeded],
            example: """
                local options = { url = "nats://localhost:4222", subject = "zoo.add", body = { id = 9, name = "Rex" }, timeout = 1 }
                local ok, reply = pcall(moonpool.request, options)
                print(ok and reply or reply.code)  --> unavailable
                """),
        .method(
            "stop", of: [service], ["()"],
            "Stops the service. Waiting requests are rejected with the code unavailable.",
            example: """
                local function pause(service)
                  service:stop()
                  return service.is_running
                end
                print(type(pause))  --> function
                """),
    ]

    private static let servingFields: [HelpEntry] = [
        .field(
            "subject", of: [serveOptions], "string",
            "The subject: words between dots. `*` matches any word, and `>` at the end matches one or more words."
        ),
        .field(
            "handler", of: [serveOptions], "fun(request: ServiceRequest): any",
            "The function that is called for each request and returns the reply: any value that JSON can represent."
        ),
        .field("subject", of: [requestOptions], "string", "The subject: words between dots."),
        .field(
            "body", of: [requestOptions], "any",
            "The value to send: any value that JSON can represent, including objects and collections."
        ),
        .field(
            "timeout", of: [requestOptions], "number?",
            "The time limit for the reply in seconds. Default: 5."),
        .field("subject", of: [serviceRequest], "string", "The subject that the requester used."),
        .field(
            "body", of: [serviceRequest], "any", "The value that the requester sent; nil if none."),
        .field("subject", of: [service], "string", "The subject."),
        .field(
            "requests", of: [service], "integer",
            "The number of answered requests, including those answered with an error."),
        .field(
            "is_running", of: [service], "boolean",
            "Whether the service has not been stopped, even if no server can be reached at the moment."
        ),
        .field("is_connected", of: [service], "boolean", "Whether a server is connected."),
        .field(
            "last_error", of: [service], "string?",
            "The last error of the connection; nil if there was none."),
    ]
}
