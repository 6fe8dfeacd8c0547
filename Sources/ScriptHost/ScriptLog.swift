import EventLoops
import Logging
import SystemCalls

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
