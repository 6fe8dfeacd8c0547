import EventLoops
import LuaHost
import ObjectStore

/// A timer, for scripts.
///
/// Releasing the handle does not cancel the timer, because scripts usually ignore the result of `after`.
package final class ScriptTimer {
    fileprivate var timer: LoopTimer?
    /// The file and line of the call that created the timer; empty if no Lua code did.
    package let location: String

    fileprivate init(location: String) { self.location = location }

    /// Cancels the timer: the function is not called again.
    package func cancel() { timer?.cancel() }

    /// Whether the function will be called again.
    package var isActive: Bool { timer?.isActive ?? false }
}

let timerClass = LuaClass<ScriptTimer>(
    name: "timer",
    methods: [
        LuaMethod("cancel") { timer, _ in
            timer.cancel()
            return .none
        }
    ],
    properties: [
        LuaProperty("is_active") { $1.set($0.isActive) }
    ],
    metamethods: [
        LuaMethod("__close") { timer, _ in
            timer.cancel()
            return .none
        }
    ])

extension ScriptContext {
    /// Adds `after`, `every`, `sleep`, `wait_until` and `stop` to the module.
    func installTimers() {
        add("after") { context, call in try context.makeTimer(call, repeats: false) }
        add("every") { context, call in try context.makeTimer(call, repeats: true) }
        add("sleep") { context, call in
            let duration = try call.duration(1)
            try context.wait(for: duration)
            return .none
        }
        add("wait_until") { context, call in
            let condition = try call.function(1)
            let timeout = call.isNil(2) ? nil : try call.duration(2)
            // The condition is also checked periodically, because it can depend on state that does not wake the loop: a
            // file, the clock.
            var isTrue = false
            try context.wait(for: timeout, recheck: .milliseconds(20)) {
                isTrue = try condition.call([]).first?.isTruthy ?? false
                return isTrue
            }
            return call.answer(.boolean(isTrue))
        }
        add("stop") { context, _ in
            context.stopLoop()
            return .none
        }
    }

    /// Adds a function to the module, without a reference cycle between the state and the script.
    func add(
        _ name: String,
        _ body: @escaping (ScriptContext, borrowing LuaCall) throws -> LuaAnswer
    ) {
        let function = state.makeFunction(name, of: "moonpool") { [weak self] call in
            guard let self else { return .none }
            return try body(self, call)
        }
        module[name] = .function(function)
    }

    /// Whether a waiting function must return immediately, because the calling code should end or is being stopped.
    package var mustNotWait: Bool { isExiting || isEnding || state.isStopping }

    private func makeTimer(_ call: borrowing LuaCall, repeats: Bool) throws -> LuaAnswer {
        let delay = try call.duration(1)
        let function = try call.function(2)
        let location = state.frame(level: 1).map { "\($0.source):\($0.line)" } ?? ""
        try state.checkMemory()
        let source = location.isEmpty ? "timer" : "timer (\(location))"
        let timer = ScriptTimer(location: location)
        var isCalling = false
        timer.timer = loop.timer(after: delay, every: repeats ? delay : nil) {
            [weak self, weak timer] in
            // On a shared thread, the loop does not know that the function still waits.
            guard let self, !isCalling else { return }
            isCalling = true
            dispatch {
                self.call(function, of: timer, from: source, repeats: repeats)
                isCalling = false
            }
        }
        remember(timer)
        return call.answer(timer, timerClass)
    }

    /// Calls a timer's function; if the waiting code is being stopped, calls it later, because the stop would end this
    /// call too.
    private func call(
        _ function: LuaFunction, of timer: ScriptTimer?, from source: String, repeats: Bool
    ) {
        guard state.isStopping else { return callback(source, function) }
        if repeats { return }
        timer?.timer = loop.timer(after: .zero) { [weak self, weak timer] in
            guard let self else { return }
            dispatch { self.call(function, of: timer, from: source, repeats: false) }
        }
    }
}

extension LuaCall {
    /// Returns a duration from an argument in seconds, from 0 to several thousand years.
    func duration(_ index: Int) throws -> Duration {
        let seconds = try number(index)
        guard seconds >= 0, seconds <= 1e11 else {
            throw argumentError(index, "seconds must be a number from 0 to 1e11")
        }
        return .nanoseconds(Int64(min(seconds * 1e9, 9e18)))
    }
}
