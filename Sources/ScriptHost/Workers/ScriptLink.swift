import EventLoops
import StoreBindings

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
