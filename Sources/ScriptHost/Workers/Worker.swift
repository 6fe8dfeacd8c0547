import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

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
