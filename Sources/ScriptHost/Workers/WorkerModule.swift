import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

extension ScriptContext {
    /// Adds `worker`, `on_message` and `post_to_parent` to the module.
    func installWorkers() {
        add("worker") { context, call in
            let worker = try context.startWorker(call)
            return call.answer(worker, Worker.type)
        }
        add("on_message") { context, call in
            context.messages.setHandler(call.isNil(1) ? nil : try call.function(1))
            return .none
        }
        add("post_to_parent") { context, call in
            guard let parent = context.configuration.parent else {
                throw StoreError(
                    .invalidArgument,
                    "post_to_parent works in workers only; this script was not started by moonpool.worker"
                )
            }
            let parcel = try Parcel(call.rest(from: 1), of: context.storeModule) {
                "argument \($0 + 1)"
            }
            let number = parent.number
            let isAccepted = parent.post { context in
                guard let worker = context.workers[number] else { return }
                context.messages.receive(parcel, from: worker)
            }
            return call.answer(.boolean(isAccepted))
        }
    }

    private func startWorker(_ call: borrowing LuaCall) throws -> Worker {
        guard !configuration.rights.isConfined else {
            // The limits of the script apply to one state and one thread.
            throw StoreError(.invalidArgument, "this script is not allowed to start workers")
        }
        let title = try call.text(1)
        guard !title.isEmpty, title.utf8.count <= 200, title.utf8.allSatisfy({ $0 >= 32 }) else {
            throw call.argumentError(1, "the name must be one line of 1 to 200 bytes")
        }
        let code = try workerCode(call, title)
        let arguments = try Parcel(call.rest(from: 3), of: storeModule) { "argument \($0 + 3)" }
        try state.checkMemory()
        lastWorker += 1
        let number = lastWorker
        let link = ParentLink(
            worker: title, number: number, script: ScriptLink(loop: loop, signals: signals))
        var configuration = configuration
        configuration.name = title
        configuration.isInteractive = false
        configuration.endsProcess = false
        configuration.parent = link
        configuration.account = state.account
        configuration.report = { report in link.post { $0.configuration.report(report) } }
        if configuration.outputLabel != nil || self.configuration.isInteractive {
            configuration.outputLabel = title
        }
        let paths = PackagePaths(of: state)
        usePrintInOnePiece()
        let script: Script
        do {
            script = try Script(configuration) { context in
                context.usePrintInOnePiece()
                paths.apply(to: context.state)
                return try context.runWorker(code, arguments)
            }
        } catch {
            throw StoreError(.limitExceeded, "worker '\(title)' cannot be started: \(error)")
        }
        let worker = Worker(title, script, parent: self)
        assert(workers[number] == nil, "each worker has a number of its own")
        workers[number] = worker
        script.whenEnded { status in link.post { $0.workerEnded(number, status) } }
        return worker
    }

    /// Returns the code of the worker: a function, or a file that is compiled on the calling thread, so that this
    /// function throws its syntax errors.
    private func workerCode(_ call: borrowing LuaCall, _ title: String) throws -> SentFunction {
        let role = "the function of worker '\(title)'"
        switch call[2] {
        case .function(let function): return try SentFunction(function, of: storeModule, role: role)
        case .string:
            let path = try call.text(2)
            let loaded = try loadFile.call([.text(path)])
            guard let chunk = loaded.first?.function else {
                throw StoreError(
                    .invalidArgument, loaded.dropFirst().first?.text ?? "cannot load \(path)")
            }
            return try SentFunction(chunk, of: storeModule, role: role)
        default: throw call.typeError(2, "function or file name")
        }
    }

    /// Runs the main part of a worker on its thread.
    private func runWorker(_ code: SentFunction, _ arguments: Parcel) throws -> Int32 {
        do {
            try code.load(in: storeModule).call(arguments.open(in: storeModule))
            return 0
        } catch {
            if isExiting { return 0 }
            let wasStopped = (error as? LuaError)?.kind == .interrupted
            let isOverLimit = (error as? LuaError)?.limit != nil
            if !wasStopped || isOverLimit { sendToParent(error, from: nil) }
            throw error
        }
    }

    /// Passes an error of a worker to its parent.
    ///
    /// Returns false in a script that is not a worker.
    @discardableResult  // because workers do not need the result
    func sendToParent(_ error: any Error, from source: String?) -> Bool {
        guard let parent = configuration.parent else { return false }
        let name = "worker '\(parent.worker)'"
        let failure = WorkerFailure(
            error, source: source.map { "\(name), \($0)" } ?? name, in: self)
        let number = parent.number
        parent.post { context in
            let error = failure.error(in: context)
            let worker = context.workers[number]
            if let worker, worker.failure == nil { worker.failure = error.message }
            context.failed(error, in: failure.source, token: .nil)
        }
        return true
    }

    private func workerEnded(_ number: Int, _ status: Int32) {
        guard let worker = workers.removeValue(forKey: number) else { return }
        // The thread has finished its last call, so this returns immediately.
        _ = worker.script.wait()
        worker.didEnd(status: status)
    }

    /// The maximum time that the end of a script waits for all workers that are inside native functions.
    private static let patience = Duration.seconds(2)

    /// Stops all workers immediately, and waits for their ends.
    ///
    /// A worker that cannot be stopped is abandoned; it ends with the process at the latest.
    func endWorkers() {
        for worker in workers.values { worker.script.kill() }
        let deadline = ContinuousClock.now + Self.patience
        for worker in workers.values {
            let status = worker.script.killAndWait(atMost: deadline - .now)
            worker.didEnd(status: status ?? 1)
            if status == nil {
                configuration.report(
                    ScriptReport(
                        hint:
                            "worker '\(worker.title)' is still inside native code and was abandoned",
                        program: configuration.programName))
            }
        }
        workers = [:]
    }

    /// Reports unread messages when the script ends.
    func hintAtUnreadMessages() {
        let (count, senders) = messages.unread
        guard count > 0 else { return }
        let from =
            senders.isEmpty ? "the parent" : senders.map { "'\($0)'" }.joined(separator: ", ")
        configuration.report(
            ScriptReport(
                hint:
                    "\(count) message\(count == 1 ? "" : "s") from \(from) had no handler; set one with "
                    + (senders.isEmpty
                        ? "moonpool.on_message" : "w:on_message or moonpool.on_message"),
                program: configuration.programName))
    }
}

/// The search paths of a state for modules; workers inherit them from the script that starts them.
private struct PackagePaths: Sendable {
    private let values: [(name: String, value: LuaString)]

    init(of state: LuaState) {
        let package = state.globals["package"].table
        values = ["path", "cpath"].compactMap { name in
            (package?[name].string).map { (name, $0) }
        }
    }

    func apply(to state: LuaState) {
        guard let package = state.globals["package"].table else { return }
        for (name, value) in values { package[name] = .string(value) }
    }
}
