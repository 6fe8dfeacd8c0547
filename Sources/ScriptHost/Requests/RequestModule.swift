import EventLoops
import LuaHost
import ObjectStore
import Replication
import StoreBindings

extension ScriptContext {
    /// Adds `serve` and `request` to the module.
    func installRequests() {
        add("serve") { context, call in
            let (servers, subject, options) = try context.connection(call)
            guard let handler = options["handler"].function else {
                throw StoreError(
                    .invalidArgument,
                    "'handler' must be a function, got \(options["handler"].typeName)")
            }
            try RequestSubject.check(subject, allowsWildcards: true)
            try context.state.checkMemory()
            let service = try wrapping {
                try context.services.start {
                    try Service(
                        servers, subject: subject, handler: handler, number: $0, in: context)
                }
            }
            return call.answer(service, Service.type)
        }
        add("request") { context, call in
            let (servers, subject, options) = try context.connection(call)
            let limit = try timeout(options["timeout"])
            let body = options["body"]
            let bytes = body.isNil ? [] : try context.storeModule.json(of: body)
            let reply = try context.reply(to: bytes, subject, servers, limit)
            return call.answer(try context.storeModule.value(ofJSON: reply))
        }
    }

    private func connection(
        _ call: borrowing LuaCall
    ) throws -> (servers: NatsOptions, subject: String, options: LuaTable) {
        try NatsArguments.checkAccess(call.state)
        guard let options = try call.options(1) else {
            throw call.typeError(1, "table")
        }
        let servers = try NatsArguments.servers(options)
        guard let subject = options["subject"].text else {
            throw StoreError(
                .invalidArgument,
                "option 'subject' is missing; pass words between dots, such as \"zoo.write\"")
        }
        return (servers, subject, options)
    }

    /// Waits for a reply, while observers, timers and services of the script run.
    private func reply(
        to body: [UInt8], _ subject: String, _ servers: NatsOptions, _ limit: Duration
    ) throws -> [UInt8] {
        try checkMayWait()  // before the request is sent
        let outcome = LoopBound<Result<[UInt8], RequestError>?>(nil, on: loop)
        let link = link
        try wrapping {
            try services.client(servers).send(subject, body: body, within: limit) { result in
                link.postToScript { _ in outcome.value = result }
            }
        }
        try wait { outcome.value != nil }
        guard let result = outcome.value else {
            throw RequestError("interrupted", "the script is ending")
        }
        return try result.get()
    }
}

/// Returns the time limit of a request; the argument is in seconds.
private func timeout(_ value: LuaValue) throws -> Duration {
    if value.isNil { return .seconds(5) }
    guard let seconds = value.number, seconds > 0, seconds <= 1e6 else {
        throw StoreError(
            .invalidArgument, "'timeout' must be a number of seconds from 0 to 1000000")
    }
    return .nanoseconds(Int64(seconds * 1e9))
}

/// Runs the work and converts errors of replication to errors with a code for scripts.
private func wrapping<Success>(_ work: () throws -> Success) throws -> Success {
    do {
        return try work()
    } catch let error as ReplicationError {
        throw RequestError("unavailable", error.description)
    }
}
