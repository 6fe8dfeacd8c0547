import EventLoops
import LuaHost
import StoreBindings

/// The messages that a script gets from its workers, and as a worker from its parent: handled one at a time, in the order they
/// came.
///
/// A message for which there is no handler waits for one.
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

    /// The number of unread messages, and their senders, each once.
    var unread: (count: Int, senders: [String]) {
        var senders: [String] = []
        for message in waiting {
            if let name = message.sender?.title, !senders.contains(name) { senders.append(name) }
        }
        return (waiting.count, senders)
    }

    /// Sets the handler of `moonpool.on_message`; that of a worker keeps it running.
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

    /// A message has come; `sender` is one of the script's own workers, or nil for its parent.
    func receive(_ parcel: Parcel, from sender: Worker?) {
        waiting.append(Message(parcel: parcel, sender: sender))
        deliver()
    }

    /// Messages that have waited for a handler are handled in a coming turn.
    func handlersChanged() {
        guard !waiting.isEmpty, !isFlushing else { return }
        isFlushing = true
        let box = LoopBound(self, on: context.loop)
        context.loop.post {
            box.value.isFlushing = false
            box.value.deliver()
        }
    }

    /// Forgets the handler of a worker that has ended, once all that it has sent was handled.
    func settle(_ worker: Worker) {
        if worker.status != nil, !waiting.contains(where: { $0.sender === worker }) {
            worker.forgetHandler()
        }
    }

    /// Forgets everything: nothing is called any more.
    func close() {
        handler = nil
        waiting = []
        hold?.release()
        hold = nil
    }

    private func deliver() {
        // A handler that sleeps is not called again meanwhile: what comes then waits.
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !context.isExiting,
            let index = waiting.firstIndex(where: { function(for: $0) != nil })
        {
            let message = waiting.remove(at: index)
            // Because: the search has found one.
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
