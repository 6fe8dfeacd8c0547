import EventLoops
import StoreBindings

/// A script as other threads see it.
package struct ScriptLink: RemoteScript {
    let loop: EventLoop
    let signals: ScriptSignals

    /// Runs a job on the script's thread, between its callbacks; false when it has ended.
    @discardableResult  // because a script that has ended has no use for a job
    package func postToScript(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        let signals = signals
        return loop.post { signals.context.map(job) }
    }

    package func post(_ job: @escaping @Sendable (StoreModule) -> Void) -> Bool {
        postToScript { job($0.storeModule) }
    }

    /// Whether the script has ended.
    package var hasEnded: Bool { signals.status != nil }
}

extension ScriptContext {
    /// The script as other threads see it.
    package var link: ScriptLink { ScriptLink(loop: loop, signals: signals) }
}
