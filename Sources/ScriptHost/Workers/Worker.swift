import EventLoops
import LuaHost
import ObjectStore
import StoreBindings
import SystemCalls

/// A worker, for the script that started it.
final class Worker {
    /// The name of the worker, given by the script.
    let title: String
    let script: Script
    private weak var starter: ScriptContext?
    /// A hold that keeps the parent running while the worker exists.
    private var hold: LoopHold?
    /// The function that `w:on_message` has set.
    private(set) var handler: LuaFunction?
    /// The exit code; set on the parent's thread after all messages of the worker were received.
    private(set) var status: Int32?
    /// The message of the first error that the worker has not handled itself.
    var failure: String?

    init(_ title: String, _ script: Script, parent: ScriptContext) {
        self.title = title
        self.script = script
        starter = parent
        hold = parent.loop.hold()
    }

    private var parent: ScriptContext {
        get throws {
            guard let starter else { throw StoreError(.closed, "the script has ended") }
            return starter
        }
    }

    /// The name of the worker, and whether it is running.
    var description: String {
        "worker \(script.name) (\(script.hasEnded ? "ended" : "running"))"
    }

    /// Handles the end of the worker's thread.
    func didEnd(status: Int32) {
        assert(self.status == nil, "a worker ends once")
        self.status = status
        hold?.release()
        hold = nil
        starter?.messages.settle(self)
    }

    /// Releases the handler of an ended worker, because it can refer to the worker.
    func forgetHandler() { handler = nil }

    private func setHandler(_ function: LuaFunction?) {
        handler = function
        starter?.messages.handlersChanged()
        starter?.messages.settle(self)
    }

    /// Sends values; returns false if the worker has ended.
    private func post(_ values: [LuaValue]) throws -> Bool {
        let parcel = try Parcel(values, of: parent.storeModule) { "argument \($0 + 1)" }
        return !script.hasEnded && script.post { $0.messages.receive(parcel, from: nil) }
    }

    /// Ends the worker after its running code and all earlier messages, or interrupts it after `grace`.
    private func stop(grace: Duration?) throws {
        guard status == nil else { return }
        guard let grace else { return script.finishGently() }
        try script.finishGently(within: grace)
    }

    /// Waits for the end, while observers, timers and messages of the calling script are handled.
    ///
    /// Returns false after a timeout.
    private func join(_ timeout: Duration?) throws -> Bool {
        if status != nil { return true }
        let context = try parent
        if let store = context.openStores.first(where: \.isInWrite) {
            throw StoreError(
                .alreadyInWrite,
                "join inside the write transaction of \(store.title) would wait "
                    + "forever for a worker that writes; commit or cancel it first")
        }
        try context.wait(for: timeout) { status != nil }
        return status != nil
    }

    static let type: LuaClass<Worker> = LuaClass(
        name: "worker",
        methods: [
            LuaMethod("post") { worker, call in
                call.answer(.boolean(try worker.post(call.rest(from: 2))))
            },
            LuaMethod("on_message") { worker, call in
                worker.setHandler(call.isNil(2) ? nil : try call.function(2))
                return .none
            },
            LuaMethod("stop") { worker, call in
                try worker.stop(grace: call.isNil(2) ? nil : try call.duration(2))
                return .none
            },
            LuaMethod("join") { worker, call in
                let timeout = call.isNil(2) ? nil : try call.duration(2)
                guard try worker.join(timeout), let status = worker.status else {
                    return call.answer(false, "still running")
                }
                if status == 0 { return call.answer(true) }
                return call.answer(
                    false, .text(worker.failure ?? "ended with exit code \(status)"))
            },
            LuaMethod("is_running") { worker, call in
                call.answer(.boolean(!worker.script.hasEnded))
            },
        ],
        properties: [
            LuaProperty("name") { $1.set($0.script.name) }
        ],
        metamethods: [
            LuaMethod("__tostring") { worker, call in call.answer(.text(worker.description)) }
        ])
}

/// An unhandled error of a worker, which is sent to the parent.
struct WorkerFailure: Sendable {
    /// The origin of the error: `worker 'cache'`, `worker 'cache', timer (cache.lua:3)`.
    let source: String
    private let code: String
    private let message: String
    private let traceback: String?
    /// The limit that has stopped the worker.
    private let limit: LuaLimitExceeded?
    /// The raised value, if it can be sent to another thread.
    private let value: Parcel?

    init(_ error: any Error, source: String, in context: ScriptContext) {
        self.source = source
        let lua = error as? LuaError
        let script = (lua?.underlying ?? error) as? any ScriptError
        code = script?.scriptCode ?? "error"
        message = lua?.message ?? script?.scriptMessage ?? "\(error)"
        traceback = lua?.traceback
        limit = lua?.limit
        var value: Parcel?
        if let raised = lua?.value, script == nil, raised.userdata == nil {
            value = try? Parcel([raised], of: context.storeModule) { _ in "error" }
        }
        self.value = value
    }

    /// Returns the error in the parent's state, for `moonpool.on_error`.
    func error(in context: ScriptContext) -> LuaError {
        let raised = (try? value?.open(in: context.storeModule))?.first
        let shown: any ScriptError =
            limit ?? RaisedElsewhere(scriptCode: code, scriptMessage: message)
        return LuaError(
            kind: .runtime, message: message, traceback: traceback, underlying: shown,
            value: raised ?? context.state.value(of: shown))
    }

    private struct RaisedElsewhere: ScriptError {
        let scriptCode: String
        let scriptMessage: String
    }
}

extension ScriptContext {
    /// Replaces `print` by a function that writes each call in one piece, because several threads share the output.
    ///
    /// If the script has a label, each line begins with the label. Lua's own `print` writes one value at a time.
    package func usePrintInOnePiece() {
        guard !printsInOnePiece else { return }
        printsInOnePiece = true
        let label = configuration.outputLabel.map { Array("[\($0)] ".utf8) } ?? []
        let output = output?.standard
        let print = state.makeFunction("print") { call in
            var line: [UInt8] = label
            if call.count > 0 {
                for index in 1...call.count {
                    if index > 1 { line.append(UInt8(ascii: "\t")) }
                    for byte in try call.state.describe(call[index]).bytes {
                        line.append(byte)
                        if byte == UInt8(ascii: "\n") { line += label }
                    }
                }
            }
            line.append(UInt8(ascii: "\n"))
            if let output {
                output.write(line)
            } else {
                ProcessServices.print(line)
            }
            return .none
        }
        state.globals["print"] = .function(print)
    }
}

/// The parent of a worker, for use on the worker's thread.
struct ParentLink: Sendable {
    /// The worker's name in the parent.
    let worker: String
    /// The number of the worker in its parent.
    let number: Int
    /// The parent script.
    let script: ScriptLink

    /// Runs a job on the parent's thread, between its callbacks.
    ///
    /// Returns false if the parent has ended.
    @discardableResult  // because the parent may have ended
    func post(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        script.postToScript(job)
    }
}

/// The handle of a script for other threads.
package struct ScriptLink: RemoteScript {
    let loop: EventLoop
    let signals: ScriptSignals

    /// Runs a job on the script's thread, between its callbacks; returns false if the script has ended.
    @discardableResult  // because a job of an ended script is not needed
    package func postToScript(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        let signals = signals
        return loop.post {
            guard let context = signals.context else { return }
            context.dispatch { job(context) }
        }
    }

    package func post(_ job: @escaping @Sendable (StoreModule) -> Void) -> Bool {
        postToScript { job($0.storeModule) }
    }

    /// Whether the script has ended.
    package var hasEnded: Bool { signals.status != nil }
}

extension ScriptContext {
    /// The script's handle for other threads.
    package var link: ScriptLink { ScriptLink(loop: loop, signals: signals) }
}
