import EventLoops
import Logging
import SystemCalls

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

/// Logs events of the host through `swift-log`.
///
/// The events are starts and ends of scripts and stores, reached limits, and errors in observers and timers. Frequent
/// operations of scripts are not logged: reads, writes, calls.
package enum ScriptLog {
    /// The detail of the log.
    package enum Level: String, CaseIterable, Sendable {
        case trace, debug, info, notice, warning, error, critical, off

        /// Returns the level in the variable `MOONPOOL_LOG`; an invalid value is reported and ignored.
        static func ofEnvironment(_ configuration: ScriptConfiguration) -> Level? {
            guard configuration.usesEnvironment,
                let text = ProcessServices.environment("MOONPOOL_LOG"), !text.isEmpty
            else { return nil }
            if let level = Level(rawValue: text) { return level }
            let known = allCases.map(\.rawValue).joined(separator: ", ")
            ProcessServices.writeError(
                "\(configuration.programName): MOONPOOL_LOG must be one of \(known), got '\(text)'\n"
            )
            return nil
        }
    }

    /// A logger without output.
    package static let none = Logger(label: "moonpool") { _ in SwiftLogNoOpLogHandler() }

    /// Returns a logger that writes a line for each event to standard error.
    package static func standardError(_ level: Level) -> Logger {
        guard let level = Logger.Level(rawValue: level.rawValue) else { return none }
        return Logger(label: "moonpool") { label in
            LineLogHandler(label: label, logLevel: level)
        }
    }
}

/// Writes lines such as `moonpool debug: script has ended script=zoo status=0`.
private struct LineLogHandler: LogHandler {
    let label: String
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        ProcessServices.writeError("\(label) \(event.level): \(event.message)\(details)\n")
    }
}
