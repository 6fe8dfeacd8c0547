/// Passes the output of a script to the host in complete lines.
final class ScriptOutput {
    /// The line buffer of one stream.
    final class Lines {
        private let take: (String) -> Void
        private var unfinished: [UInt8] = []

        init(_ take: @escaping (String) -> Void) { self.take = take }

        /// Passes on complete lines, and keeps the rest.
        func write(_ bytes: some Collection<UInt8>) {
            var rest = bytes[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                unfinished += rest[...end]
                pass()
                rest = rest[rest.index(after: end)...]
            }
            unfinished += rest
            if unfinished.count > Self.longest { pass() }
        }

        /// Passes on an unfinished line.
        func end() { if !unfinished.isEmpty { pass() } }

        // A script that never ends its line must not exhaust the memory.
        private static let longest = 1 << 20

        private func pass() {
            take(String(decoding: unfinished, as: UTF8.self))
            unfinished.removeAll(keepingCapacity: unfinished.capacity <= 4096)
        }
    }

    let standard: Lines
    let errors: Lines

    init(_ take: @escaping @Sendable (String) -> Void) {
        standard = Lines(take)
        errors = Lines(take)
    }

    func endLines() {
        standard.end()
        errors.end()
    }
}
