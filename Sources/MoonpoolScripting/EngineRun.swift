import LuaHost
import Synchronization

/// One run of an engine, which another thread can cancel.
final class EngineRun: Sendable {
    private enum Phase { case waiting, running, over, canceled }

    private let script: Script
    private let usage: UsageCounter
    private let phase = Mutex(Phase.waiting)

    init(_ script: Script, _ usage: UsageCounter) {
        self.script = script
        self.usage = usage
    }

    /// Does the work on the engine's thread, unless it was already canceled.
    func perform<Value: Sendable>(
        _ body: (ScriptContext) throws -> Value, in context: ScriptContext,
        _ delivery: EngineDelivery<Value>
    ) {
        guard !context.isExiting else { return delivery.fail(ScriptFailure.closed) }
        let begins = phase.withLock { phase in
            guard phase == .waiting else { return false }
            phase = .running
            return true
        }
        guard begins else { return delivery.fail(CancellationError()) }
        let begin = ContinuousClock.now
        // The host's own operations, such as opening a store, run no Lua code that a stop could end.
        let whileWaiting = context.storeModule.whileWaiting
        context.storeModule.whileWaiting = { [weak self] store in
            if self?.isCanceled == true { throw CancellationError() }
            try whileWaiting?(store)
        }
        let result = Result { try context.entry { () throws in try body(context) } }
        context.storeModule.whileWaiting = whileWaiting
        usage.note(ContinuousClock.now - begin, context)
        let wasCanceled = phase.withLock { phase in
            defer { phase = .over }
            return phase == .canceled
        }
        switch result {
        case .success(let value): delivery.succeed(value)
        case .failure where wasCanceled: delivery.fail(CancellationError())
        case .failure(let error): delivery.fail(ScriptFailure.describing(error))
        }
    }

    private var isCanceled: Bool { phase.withLock { $0 == .canceled } }

    /// Stops the run, or prevents its start.
    func cancel() {
        phase.withLock { phase in
            switch phase {
            case .waiting: phase = .canceled
            // The lock delays the end of the run until the stop is requested; otherwise the stop would affect the next
            // run.
            case .running:
                phase = .canceled
                script.stopRunning()
            case .over, .canceled: break
            }
        }
    }
}

/// Receives the result of a run, once.
///
/// If the engine has ended, dropping the job releases this object, which resumes the waiting caller.
final class EngineDelivery<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, any Error>?>

    init(_ continuation: CheckedContinuation<Value, any Error>) {
        self.continuation = Mutex(continuation)
    }

    deinit { take()?.resume(throwing: ScriptFailure.closed) }

    func succeed(_ value: Value) { take()?.resume(returning: value) }
    func fail(_ error: any Error) { take()?.resume(throwing: error) }

    private func take() -> CheckedContinuation<Value, any Error>? {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
    }
}
