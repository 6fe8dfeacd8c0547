import LuaHost
import ObjectStore
import Replication
import Transfer

/// A publisher or follower, for scripts.
///
/// The publisher or follower continues if the script releases the handle, because the store retains the handle.
package final class ReplicationHandle {
    package let task: ReplicationTask
    /// The servers of a cluster.
    package let servers: NatsOptions
    /// Whether each write waits until the stream has acknowledged it.
    private let isAcknowledged: Bool
    private weak var store: StoreHandle?

    /// Creates a handle that the store retains until ``stop()``.
    init(
        _ task: ReplicationTask, _ store: StoreHandle, isAcknowledged: Bool = false,
        servers: NatsOptions = NatsOptions("")
    ) {
        self.task = task
        self.servers = servers
        self.store = store
        self.isAcknowledged = isAcknowledged
        store.add(self)
        watchRole(store.store.scheduler)
    }

    // MARK: The role in a cluster

    /// The role that the script knows.
    package private(set) var isWriter = false
    /// The number of the lease that the listeners know.
    private var lease: UInt64 = 0
    private var roleWakeup: (any Wakeup)?
    /// Whether the script has received the error that has ended the work.
    private var hasReported = false
    /// The functions of services that listen only at the writer.
    private var roleListeners: [Int: (_ isWriter: Bool) -> Void] = [:]

    /// Calls a function now, and after each change of the role or of the writer's lease, until ``removeListener(_:)``.
    package func addListener(_ number: Int, _ listener: @escaping (_ isWriter: Bool) -> Void) {
        roleListeners[number] = listener
        listener(isWriter)
    }

    /// Returns the subject of the requests to the holder of a lease, by default the current one.
    package func subject(_ name: String, lease: UInt64? = nil) -> String {
        let lease = lease ?? task.status.snapshot.lease?.number ?? 0
        return "moonpool.\(task.stream).write.\(lease).\(name)"
    }

    package func removeListener(_ number: Int) { roleListeners[number] = nil }

    /// Calls ``recordRole()`` on the script's thread after each change of the role, and if an error ends the work.
    private func watchRole(_ scheduler: any Scheduler) {
        let wakeup = scheduler.makeWakeup { [weak self] in self?.recordRole() }
        roleWakeup = wakeup
        task.status.observeRole { wakeup.wake() }
        wakeup.wake()
    }

    private func recordRole() {
        guard let store, !store.store.isClosed else { return }
        let status = task.status.snapshot
        if status.hasFailed, !hasReported {
            hasReported = true
            // because: a script that has ended receives no reports.
            try? store.module.host?.report(
                StoreError(.invalidArgument, status.lastError?.message ?? ""),
                from: "the replication with '\(task.stream)', which has ended", token: .nil)
        }
        let (now, number) = (status.isWriter, status.lease?.number ?? 0)
        // A member can have taken another lease since the last call.
        let isOther = now && number != lease
        guard now != isWriter || isOther else { return }
        lease = number
        for listener in roleListeners.values { listener(now) }
        guard now != isWriter else { return }
        isWriter = now
        do {
            if !store.store.isInWrite { try store.store.refresh() }
            try store.roleHandler?.function.call([.text(now ? "writer" : "follower")])
        } catch {
            // because: a script that has ended receives no reports.
            try? store.module.host?.report(
                error, from: "the function of store:on_role", token: .nil)
        }
    }

    /// The maximum time that a write waits for the acknowledgment of the stream.
    private static let acknowledgmentLimit = Duration.seconds(30)

    /// Waits until the stream has acknowledged a version.
    ///
    /// Throws `limit_exceeded` after 30 seconds, or if the publisher has stopped; also throws if the script is stopped.
    func acknowledge(_ version: UInt64, _ state: LuaState) throws {
        guard isAcknowledged else { return }
        let isAcknowledged = try wait(
            atMost: Self.acknowledgmentLimit, state,
            while: { !$0.isLost(version) }
        ) { time in task.wait(forVersion: version, atMost: time) }
        guard !isAcknowledged else { return }
        guard !task.status.snapshot.isLost(version) else {
            throw StoreError(
                .notWriter,
                "another member of the cluster has become the writer before the stream '\(task.stream)' has acknowledged "
                    + "the commit; if it is not part of the store, it is in a file \(store?.name ?? "STORE")-lost-N"
            )
        }
        let reason = task.status.snapshot.lastError.map { ": \($0.message)" } ?? ""
        throw StoreError(
            .limitExceeded,
            "version \(version) is committed, but the stream '\(task.stream)' has not acknowledged it"
                + reason)
    }

    /// Waits until everything has been published or applied; returns false after a timeout.
    fileprivate func wait(_ seconds: Double, _ state: LuaState) throws -> Bool {
        let isReached = try wait(atMost: .seconds(seconds), state) { time in
            switch task.role {
            case .publisher: task.wait(forVersion: store?.store.version ?? 0, atMost: time)
            case .follower: task.waitForEnd(atMost: time)
            }
        }
        guard isReached else { return false }
        if task.role == .follower, let store, !store.store.isClosed { try store.store.refresh() }
        return true
    }

    /// The interval at which a wait checks whether the script is stopped.
    private static let stopCheck = Duration.milliseconds(50)

    /// Waits until the condition holds; returns false after the time limit, or if the task has ended or the condition is
    /// no longer possible.
    ///
    /// On a thread that several scripts share, the others run in the meantime. `isReached` waits for the condition, at
    /// most for the given time. Throws if the script is stopped.
    private func wait(
        atMost limit: Duration, _ state: LuaState,
        while isPossible: (ReplicationStatus.Snapshot) -> Bool = { _ in true },
        until isReached: (Duration) -> Bool
    ) throws -> Bool {
        func mayContinue() -> Bool { task.isRunning && isPossible(task.status.snapshot) }
        let deadline = ContinuousClock.now + limit
        guard let suspending = store?.store.scheduler.suspending else {
            while !isReached(Self.stopCheck) {
                try state.checkStopping()
                guard mayContinue(), ContinuousClock.now < deadline else { return false }
            }
            return true
        }
        var hasReached = false
        try task.status.observing(with: suspending.resume) {
            try suspending.suspend(checkingEvery: Self.stopCheck) {
                hasReached = isReached(.zero)
                if hasReached { return true }
                try state.checkStopping()
                return !mayContinue() || ContinuousClock.now >= deadline
            }
        }
        return hasReached
    }

    /// Stops the publisher or follower.
    func stop() {
        task.stop()
        roleWakeup?.cancel()
        store?.remove(self)
    }

    static let type: LuaClass<ReplicationHandle> = LuaClass(
        name: "replication",
        methods: [
            LuaMethod("stop") { handle, _ in
                handle.stop()
                return .none
            },
            LuaMethod("wait") { handle, call in
                let seconds = call.isNil(2) ? 30 : try call.number(2)
                return call.answer(
                    .boolean(try handle.wait(min(max(seconds, 0), 1e6), call.state)))
            },
        ],
        properties: [
            LuaProperty("role") { handle, result in
                let task = handle.task
                result.set(
                    task.isMember && task.role == .publisher ? "writer" : task.role.rawValue)
            },
            LuaProperty("stream") { $1.set($0.task.stream) },
            LuaProperty("is_running") { $1.set($0.task.isRunning) },
            LuaProperty("is_connected") { $1.set($0.task.status.snapshot.isConnected) },
            LuaProperty("version") { $1.set(Int64(clamping: $0.task.status.snapshot.version)) },
            LuaProperty("position") { $1.set(Int64(clamping: $0.task.status.snapshot.sequence)) },
            LuaProperty("commits") { $1.set(Int64($0.task.status.snapshot.commits)) },
            LuaProperty("skipped") { $1.set(Int64($0.task.status.snapshot.skipped)) },
            LuaProperty("lag") { $1.set(Int64(clamping: $0.task.status.snapshot.lag)) },
            LuaProperty("rate") { $1.set($0.task.status.snapshot.rate) },
            LuaProperty("last_error") { handle, result in
                if let text = handle.task.status.snapshot.lastError?.message {
                    result.set(text)
                } else {
                    result.setNil()
                }
            },
        ],
        metamethods: [
            LuaMethod("__close") { handle, _ in
                handle.stop()
                return .none
            },
            LuaMethod("__tostring") { handle, call in
                let state = handle.task.isRunning ? "running" : "stopped"
                let kind = handle.task.isMember ? "member" : handle.task.role.rawValue
                return call.answer(.text("\(kind) of '\(handle.task.stream)' (\(state))"))
            },
        ])
}

/// The methods `store:publish`, `store:follow` and `store:cluster`, and those of a cluster's members.
enum ReplicationMethods {
    static var store: [LuaMethod<StoreHandle>] {
        [
            LuaMethod("publish") { handle, call in
                let path = try path(handle, call)
                let given = TransferOptions(try call.options(2))
                if let url = try given.text("url"), PostgresAddress.isAddress(url) {
                    return try publish(path, to: url, of: handle, options: given, call: call)
                }
                let (servers, stream) = try connection(given)
                var options = PublisherOptions()
                options.replicas = try given.count("replicas") ?? options.replicas
                options.snapshotInterval =
                    try given.count("snapshot_every") ?? options.snapshotInterval
                let replication = ReplicationHandle(
                    try start(
                        NatsJob.publish(servers, stream: stream, options), path, handle, call),
                    handle, isAcknowledged: given.flag("acknowledged"))
                return call.answer(replication, ReplicationHandle.type)
            },
            LuaMethod("follow") { handle, call in
                let path = try path(handle, call)
                let given = TransferOptions(try call.options(2))
                let (servers, stream) = try connection(given)
                let replication = ReplicationHandle(
                    try start(NatsJob.follow(servers, stream: stream), path, handle, call), handle)
                // The refresh shows the commit that has marked the store as a follower.
                try handle.store.refresh()
                return call.answer(replication, ReplicationHandle.type)
            },
            LuaMethod("cluster") { handle, call in
                let path = try path(handle, call)
                let table = try call.options(2)
                let given = TransferOptions(table)
                let (servers, stream) = try connection(given)
                var options = MemberOptions()
                options.replicas = try given.count("replicas")
                options.snapshotInterval =
                    try given.count("snapshot_every") ?? options.snapshotInterval
                options.name = try given.text("name")
                if let lease = table?["lease"], !lease.isNil {
                    guard let seconds = lease.number, seconds >= 0.5, seconds <= 3600 else {
                        throw StoreError(
                            .invalidArgument,
                            "option 'lease' must be a number of seconds from 0.5 to 3600")
                    }
                    options.leaseDuration = .seconds(seconds)
                }
                let replication = ReplicationHandle(
                    try start(NatsJob.join(servers, stream: stream, options), path, handle, call),
                    handle, isAcknowledged: given.flag("acknowledged"), servers: servers)
                return call.answer(replication, ReplicationHandle.type)
            },
            LuaMethod("remote_write") { handle, call in
                try handle.store.check()
                try NatsArguments.checkAccess(call.state)
                guard let write = try handle.module.remoteWriter else {
                    throw StoreError(.invalidArgument, "this program cannot send requests")
                }
                return call.answer(
                    try write(handle, call.text(2), call[3], call.options(4)?["timeout"] ?? .nil))
            },
            LuaMethod("on_role") { handle, call in
                try handle.store.check()
                handle.setRoleHandler(call.isNil(2) ? nil : try call.function(2))
                return .none
            },
        ]
    }

    private static func publish(
        _ path: String, to database: String, of handle: StoreHandle, options given: TransferOptions,
        call: borrowing LuaCall
    ) throws -> LuaAnswer {
        var options = DatabaseOptions()
        options.schema = try given.text("schema") ?? options.schema
        options.replaces = given.flag("replace")
        let replication = ReplicationHandle(
            try start(DatabaseJob(database, options), path, handle, call), handle,
            isAcknowledged: given.flag("acknowledged"))
        return call.answer(replication, ReplicationHandle.type)
    }

    /// Starts a job; errors of replication become errors with a code for scripts.
    private static func start(
        _ job: any ReplicationJob, _ path: String, _ handle: StoreHandle, _ call: borrowing LuaCall
    ) throws -> ReplicationTask {
        do {
            return try ReplicationTask(job, path, waiting: waitForStart(handle, call.state))
        } catch let error as ReplicationError {
            throw StoreError(.invalidArgument, error.description)
        }
    }

    /// Returns a wait for the start of a task; nil if the wait can block the thread.
    ///
    /// On a thread that several scripts share, the others run in the meantime, because the task waits for their writes.
    private static func waitForStart(
        _ handle: StoreHandle, _ state: LuaState
    ) -> ReplicationTask.StartWait? {
        guard let suspending = handle.store.scheduler.suspending else { return nil }
        return { status in
            try status.observing(with: suspending.resume) {
                try suspending.suspend(checkingEvery: .milliseconds(50)) {
                    try state.checkStopping()
                    return status.snapshot.hasStarted
                }
            }
        }
    }

    /// Returns the path of the store's file, which the thread of the publisher or follower opens.
    private static func path(_ handle: StoreHandle, _ call: borrowing LuaCall) throws -> String {
        try handle.store.check()
        try NatsArguments.checkAccess(call.state)
        guard !handle.store.isInWrite else {
            throw handle.store.alreadyInWrite(
                "replication cannot begin in a write transaction", "commit it first")
        }
        guard !handle.store.isReadOnly else {
            throw StoreError(
                .readOnly,
                "the store was opened read-only; open it without read_only to replicate it")
        }
        guard handle.replications.allSatisfy({ !$0.task.isRunning }) else {
            throw StoreError(
                .invalidArgument, "\(handle.store.title) is already replicated; stop that first")
        }
        guard let path = handle.store.path else {
            throw StoreError(
                .invalidArgument, "an in-memory store cannot be replicated; open one with a path")
        }
        return path
    }

    private static func connection(
        _ given: TransferOptions
    ) throws -> (servers: NatsOptions, stream: String) {
        let servers = try NatsArguments.servers(given)
        guard let stream = try given.text("stream") else {
            throw StoreError(
                .invalidArgument, "option 'stream' is missing; pass the name of a stream")
        }
        return (servers, stream)
    }
}

/// Parses the options of scripts that connect to NATS servers.
package enum NatsArguments {
    /// Throws `invalid_argument` if the script is not allowed to use the network.
    package static func checkAccess(_ state: LuaState) throws {
        guard state.files.isUnlimited else {
            throw StoreError(.invalidArgument, "this script is not allowed to use the network")
        }
    }

    /// Returns the servers and the connection options.
    ///
    /// Throws `invalid_argument` for an option that is missing or has the wrong type.
    package static func servers(_ table: LuaTable) throws -> NatsOptions {
        try servers(TransferOptions(table))
    }

    static func servers(_ given: TransferOptions) throws -> NatsOptions {
        guard let address = try given.text("url") else {
            throw StoreError(
                .invalidArgument,
                "option 'url' is missing; pass the address of a server, such as \"nats://localhost:4222\""
            )
        }
        var options = NatsOptions(address)
        guard !options.servers.isEmpty, options.servers.allSatisfy(NatsOptions.isAddress) else {
            throw StoreError(
                .invalidArgument,
                "expected an address such as nats://host:4222 as 'url', got \"\(options.display)\"")
        }
        options.credentials = try given.text("credentials")
        options.token = try given.text("token")
        options.user = try given.text("user")
        options.password = try given.text("password")
        options.passwordFile = try given.text("password_file")
        options.tokenFile = try given.text("token_file")
        options.authority = try given.text("tls_ca")
        let certificate = (try given.text("tls_cert"), try given.text("tls_key"))
        guard (certificate.0 == nil) == (certificate.1 == nil) else {
            throw StoreError(.invalidArgument, "use the options 'tls_cert' and 'tls_key' together")
        }
        if let file = certificate.0, let key = certificate.1 {
            options.certificate = .init(file, key: key)
        }
        do {
            try options.check()
        } catch let error as ReplicationError {
            throw StoreError(.invalidArgument, error.description)
        }
        return options
    }
}
