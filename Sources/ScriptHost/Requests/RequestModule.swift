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
        return (try store.membership.servers, name, options)
    }

    /// Runs a function at the writer of a store's cluster, and waits until its commit is in the store here and in the
    /// stream.
    ///
    /// The request is addressed to the holder of one lease, and contains the identity of its commit. It is sent again,
    /// with another identity, if it has not been handled: no service has received it, a member has refused it, or the
    /// store here has the first commit of a later lease, but not the one of the request.
    private func remoteWrite(
        _ store: StoreHandle, _ name: String, _ arguments: LuaValue, _ limit: Duration
    ) throws -> LuaValue {
        try checkMayWait()
        let deadline = ContinuousClock.now + limit
        let membership = try store.membership
        let status = membership.task.status
        let body = arguments.isNil ? [] : try storeModule.json(of: arguments)
        let link = link
        while true {
            let commit = Store.newCommitIdentity()
            let (lease, combinations) =
                (status.snapshot.lease?.number ?? 0, status.snapshot.combinations)
            let outcome = LoopBound<Result<[UInt8], RequestError>?>(nil, on: loop)
            try wrapping {
                try services.client(membership.servers).send(
                    membership.subject(name, lease: lease),
                    body: Array((commit + "\n").utf8) + body,
                    within: max(deadline - .now, .milliseconds(1))
                ) { result in link.postToScript { _ in outcome.value = result } }
            }
            var version: UInt64?
            var (isOver, hasArrived) = (false, false)
            var seen: UInt64 = 0
            try wait(for: max(deadline - .now, .zero), recheck: .milliseconds(5)) {
                if case .failure? = outcome.value { return true }
                // Read first, so that the store has all commits that the status counts. A store that has a commit of a
                // later lease has all commits of the earlier ones.
                let known = status.snapshot
                isOver = known.streamLease > lease
                try store.store.refresh()
                if version == nil, store.store.version != seen {
                    seen = store.store.version
                    version = try store.store.version(ofCommit: commit)
                }
                guard let version else {
                    // A combined message has the versions, but not the identities, of its commits.
                    if case .success(let reply)? = outcome.value,
                        let last = known.leaseVersions[lease],
                        let version = Self.version(of: reply), version <= last
                    {
                        hasArrived = true
                    }
                    return hasArrived
                        || isOver
                            && (outcome.value != nil || known.combinations == combinations)
                }
                return known.isLost(version)
                    || known.isStored(version) && (outcome.value != nil || isOver)
            }
            if case .failure(let error)? = outcome.value {
                let isRefused =
                    error.isUnhandled || error.code == StoreError.Code.notWriter.rawValue
                // Without time for an answer, the next request would end with `timed_out`, and hide the reason.
                guard isRefused, deadline - .now > max(limit / 4, .milliseconds(250)) else {
                    throw error.isUnhandled
                        ? RequestError(
                            "unavailable",
                            "no member of the cluster is the writer and serves '\(name)'; register it with moonpool.serve"
                        ) : error
                }
                try wait(for: .milliseconds(50))
            } else if hasArrived || version.map(status.snapshot.isStored) == true {
                guard let reply = try outcome.value?.get() else {
                    throw RequestError(
                        "unavailable",
                        "the commit of '\(name)' is in the store, but the writer has ended before it sent the result"
                    )
                }
                return try storeModule.value(
                    ofJSON: Array(reply.drop { $0 != UInt8(ascii: "\n") }.dropFirst()))
            } else if deadline <= .now {
                throw RequestError(
                    "timed_out",
                    "the commit of '\(name)' has not arrived in \(store.store.title) in time; it may still arrive later"
                )
            }
            guard
                version != nil
                    || status.snapshot.leaseVersions[lease] != nil && outcome.value != nil
                    || status.snapshot.combinations == combinations
            else {
                throw RequestError(
                    "unavailable",
                    "the store has received several commits as one, which may contain the one of '\(name)'"
                )
            }
            // The writer has been replaced, and the commit is lost.
        }
    }

    /// The version of the writer after the commit of a request, which is the first line of the reply.
    private static func version(of reply: [UInt8]) -> UInt64? {
        UInt64(String(decoding: reply.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
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
