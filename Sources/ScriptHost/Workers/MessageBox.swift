import EventLoops
import LuaHost
import StoreBindings

/// The messages that a script receives from its workers, and a worker from its parent.
///
/// They are handled one at a time, in order of arrival. A message without a handler waits until there is one.
final class MessageBox {
    private struct Message {
        let parcel: Parcel
        let sender: Worker?
    }

    private unowned let context: ScriptContext
    private var waiting: [Message] = []
    private var handler: LuaFunction?
    private var isDelivering = false
    private var isFlushing = false
    private var hold: LoopHold?

    init(_ context: ScriptContext) { self.context = context }

    /// The number of unread messages, and their distinct senders.
    var unread: (count: Int, senders: [String]) {
        var senders: [String] = []
        for message in waiting {
            if let name = message.sender?.title, !senders.contains(name) { senders.append(name) }
        }
        return (waiting.count, senders)
    }

    /// Sets the handler of `moonpool.on_message`; the handler of a worker keeps the worker running.
    func setHandler(_ function: LuaFunction?) {
        handler = function
        if function == nil {
            hold?.release()
            hold = nil
        } else if hold == nil, context.configuration.parent != nil {
            hold = context.loop.hold()
        }
        handlersChanged()
    }

    /// Receives a message; `sender` is one of the script's own workers, or nil for its parent.
    func receive(_ parcel: Parcel, from sender: Worker?) {
        waiting.append(Message(parcel: parcel, sender: sender))
        deliver()
    }

    /// Delivers messages that have waited for a handler, in a later turn.
    func handlersChanged() {
        guard !waiting.isEmpty, !isFlushing else { return }
        isFlushing = true
        let box = LoopBound(self, on: context.loop)
        context.link.postToScript { _ in
            assert(box.value.isFlushing, "waiting messages are delivered once")
            box.value.isFlushing = false
            box.value.deliver()
        }
    }

    /// Releases the handler of a worker that has ended, after all its messages were handled.
    func settle(_ worker: Worker) {
        if worker.status != nil, !waiting.contains(where: { $0.sender === worker }) {
            worker.forgetHandler()
        }
    }

    /// Releases the handler and drops all messages.
    func close() {
        handler = nil
        waiting = []
        hold?.release()
        hold = nil
    }

    private func deliver() {
        // While a handler waits, no other message is handled.
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !context.isExiting,
            let index = waiting.firstIndex(where: { function(for: $0) != nil })
        {
            let message = waiting.remove(at: index)
            // A handler exists, because the search has found one.
            guard let function = function(for: message) else { return }
            let source =
                message.sender.map { "the message handler for worker '\($0.title)'" }
                ?? "the message handler"
            do {
                let values = try message.parcel.open(in: context.storeModule)
                context.callback(source, function, values)
            } catch {
                context.failed(error, in: source, token: .nil)
            }
            if let sender = message.sender { settle(sender) }
        }
    }

    private func function(for message: Message) -> LuaFunction? {
        message.sender?.handler ?? handler
    }
}
