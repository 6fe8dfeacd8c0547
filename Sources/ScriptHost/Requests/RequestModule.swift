import EventLoops
import LuaHost
import ObjectStore
import Replication
import StoreBindings

extension ScriptContext {
    /// Adds `serve` and `request` to the module.
    func installRequests() {
        storeModule.remoteWriter = { [weak self] store, name, arguments, timeout in
            guard let self else { return .nil }
            return try remoteWrite(store, name, arguments, try requestLimit(timeout))
        }
        add("serve") { context, call in
            let store = try call.options(1).flatMap { context.storeModule.store($0["store"]) }
            let (servers, subject, options) =
                if let store { try context.cluster(of: store, call) } else {
                    try context.connection(call)
                }
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
                        servers, subject: subject, handler: handler, number: $0, writing: store,
                        in: context)
                }
            }
            return call.answer(service, Service.type)
        }
        add("request") { context, call in
            let (servers, subject, options) = try context.connection(call)
            let limit = try requestLimit(options["timeout"])
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

    /// Returns the servers of a store's cluster, and the subject of the option `name`.
    private func cluster(
        of store: StoreHandle, _ call: borrowing LuaCall
    ) throws -> (servers: NatsOptions, subject: String, options: LuaTable) {
        guard let options = try call.options(1), let name = options["name"].text else {
            throw StoreError(
                .invalidArgument,
                "option 'name' is missing; pass the name that store:remote_write uses")
        }
        let (servers, subject) = try writing(name, store)
        return (servers, subject, options)
    }

    private func writing(
        _ name: String, _ store: StoreHandle
    ) throws -> (servers: NatsOptions, subject: String) {
        let membership = try store.membership
        return (membership.servers, "moonpool.\(membership.task.stream).write.\(name)")
    }

    /// Runs a function at the writer of a store's cluster, and waits until its commit is in the store here.
    ///
    /// A request that no writer has received, or that a member without the lease has refused, is sent again.
    private func remoteWrite(
        _ store: StoreHandle, _ name: String, _ arguments: LuaValue, _ limit: Duration
    ) throws -> LuaValue {
        let deadline = ContinuousClock.now + limit
        let (servers, subject) = try writing(name, store)
        let body = arguments.isNil ? [] : try storeModule.json(of: arguments)
        let reply: [UInt8]
        while true {
            do {
                reply = try self.reply(
                    to: body, subject, servers, max(deadline - .now, .milliseconds(1)))
                break
            } catch let error as RequestError
                where (error.isUnhandled || error.code == StoreError.Code.notWriter.rawValue)
                && ContinuousClock.now < deadline
            {
                try wait(for: .milliseconds(50))
            }
        }
        let end = reply.firstIndex(of: UInt8(ascii: "\n")) ?? reply.endIndex
        let words = String(decoding: reply[..<end], as: UTF8.self).split(separator: " ")
        guard words.count == 2 else {
            throw RequestError("invalid_argument", "'\(subject)' is not a service of a cluster")
        }
        try awaitCommit(
            String(words[0]), isOwn: words[1] == (try store.membership.identifier), store, deadline)
        return try storeModule.value(ofJSON: Array(reply[end...].dropFirst()))
    }

    /// Waits until a store has a commit that is also in the stream.
    private func awaitCommit(
        _ commit: String, isOwn: Bool, _ store: StoreHandle, _ deadline: ContinuousClock.Instant
    ) throws {
        var (seen, version): (UInt64?, UInt64?)
        let task = try store.membership.task
        try wait(for: deadline - .now, recheck: .milliseconds(5)) {
            try store.store.refresh()
            if version == nil, store.store.version != seen {
                version = try store.store.version(ofCommit: commit)
                seen = store.store.version
            }
            guard isOwn, let version, !task.status.snapshot.isLost(version) else {
                return version != nil
            }
            return task.wait(forVersion: version, atMost: .zero)
        }
        guard let version, !isOwn || task.wait(forVersion: version, atMost: .zero) else {
            throw RequestError(
                "timed_out",
                "the function has run, but its commit has not arrived in \(store.store.title) in time; it may be lost if the "
                    + "writer is replaced")
        }
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
private func requestLimit(_ value: LuaValue) throws -> Duration {
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
