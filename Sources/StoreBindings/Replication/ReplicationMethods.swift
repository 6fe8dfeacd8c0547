import LuaHost
import ObjectStore
import Replication
import Transfer

/// The methods `store:publish` and `store:follow`.
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
                var options = Publisher.Options()
                options.replicas = try given.count("replicas") ?? options.replicas
                options.snapshotInterval =
                    try given.count("snapshot_every") ?? options.snapshotInterval
                let task = try wrapping {
                    try ReplicationTask.publish(
                        path, servers, stream: stream, options: options,
                        waiting: waitForStart(handle, call.state))
                }
                let replication = ReplicationHandle(
                    task, handle, isAcknowledged: given.flag("acknowledged"))
                return call.answer(replication, ReplicationHandle.type)
            },
            LuaMethod("follow") { handle, call in
                let path = try path(handle, call)
                let given = TransferOptions(try call.options(2))
                let (servers, stream) = try connection(given)
                let task = try wrapping {
                    try ReplicationTask.follow(
                        path, servers, stream: stream, waiting: waitForStart(handle, call.state))
                }
                let replication = ReplicationHandle(task, handle)
                // The refresh shows the commit that has marked the store as a follower.
                try handle.store.refresh()
                return call.answer(replication, ReplicationHandle.type)
            },
        ]
    }

    private static func publish(
        _ path: String, to database: String, of handle: StoreHandle, options given: TransferOptions,
        call: borrowing LuaCall
    ) throws -> LuaAnswer {
        var options = PostgresPublisher.Options()
        options.schema = try given.text("schema") ?? options.schema
        options.replaces = given.flag("replace")
        let task = try wrapping {
            try ReplicationTask.publish(
                path, to: database, options: options, waiting: waitForStart(handle, call.state))
        }
        let replication = ReplicationHandle(
            task, handle, isAcknowledged: given.flag("acknowledged"))
        return call.answer(replication, ReplicationHandle.type)
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

    /// Runs the work and converts errors of replication to errors with a code for scripts.
    private static func wrapping<Result>(_ work: () throws -> Result) throws -> Result {
        do {
            return try work()
        } catch let error as ReplicationError {
            throw StoreError(.invalidArgument, error.description)
        }
    }
}
