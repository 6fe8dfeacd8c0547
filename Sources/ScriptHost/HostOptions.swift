import EventLoops
import LuaHost
import MemoryAccounts
import SystemCalls

/// The options of `moonpool` that `lua` does not have: the rights, limits and reports of a script.
package struct HostOptions: Equatable, Sendable {
    /// The option `--sandbox`: no access to resources outside of the script, and by default 256 MiB of memory.
    package var isSandboxed = false
    /// The option `--allow FOLDER`: the folders that a sandboxed script may use.
    package var allowedFolders: [String] = []
    /// The option `--read-only`: the script opens store files for reading only.
    package var isReadOnly = false
    /// The option `--schema-version 2`: the schema version of the store that the command line names; 0 for that of the
    /// file.
    package var schemaVersion = 0
    /// The option `--memory 64M`, in bytes.
    package var memory: Int?
    /// The option `--memory-hard 1G`, in bytes: the memory beyond which the system ends the process.
    package var hardMemory: Int?
    /// The option `--time-limit 5s`: the time limit of the main part, and of each later call of an observer or a timer.
    package var time: Duration?
    /// The option `--total-time-limit 60s`: the time limit of the whole script, including the time that it waits.
    package var totalTime: Duration?
    /// The option `--attachable`, or `--attachable=SOCKET`: whether other processes of the same user can attach to the
    /// script.
    package var isAttachable = false
    /// The path of the socket for attaching; nil for the default path.
    package var attachSocket: String?
    /// The option `--log-level debug`.
    package var logLevel: ScriptLog.Level?

    /// Creates empty options.
    package init() {}

    /// Parses a list of words that contains only options; the argument of an option follows `=`.
    package init(_ words: [String]) throws(LuaCommandLine.UsageError) {
        for word in words {
            guard try take(word, next: { nil }) else {
                throw LuaCommandLine.UsageError(option: word)
            }
        }
    }

    /// The options that have an argument.
    private static let withArgument = [
        "--allow", "--schema-version", "--memory", "--memory-hard", "--time-limit",
        "--total-time-limit", "--log-level",
    ]
    private static let sandboxMemory = 256 << 20
    private static let size = "a size of 64K or more, such as 64M"

    /// Parses an option such as `--memory 64M` or `--memory=64M`; returns false if the word is not one of these
    /// options.
    ///
    /// `next` returns the following word.
    mutating func take(
        _ word: String, next: () -> String?
    ) throws(LuaCommandLine.UsageError) -> Bool {
        switch word {
        case "--sandbox": isSandboxed = true
        case "--read-only": isReadOnly = true
        case "--attachable": isAttachable = true
        case _ where word.hasPrefix("--attachable="):
            isAttachable = true
            attachSocket = String(word.dropFirst("--attachable=".count))
            if attachSocket == "" {
                throw LuaCommandLine.UsageError(option: "--attachable", needsArgument: true)
            }
        default:
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let option = String(parts[0])
            guard Self.withArgument.contains(option) else { return false }
            guard let argument = parts.count == 2 ? String(parts[1]) : next(), !argument.isEmpty
            else {
                throw LuaCommandLine.UsageError(option: option, needsArgument: true)
            }
            try set(option, argument)
        }
        return true
    }

    private mutating func set(
        _ option: String, _ argument: String
    ) throws(LuaCommandLine.UsageError) {
        var right: String?
        switch option {
        case "--allow":
            allowedFolders.append(argument)
            if FileRights.folders([argument]).readableFolders.isEmpty {
                right = "a folder that exists"
            }
        case "--schema-version":
            schemaVersion = Int(argument) ?? -1
            if schemaVersion < 0 { right = "a number" }
        case "--memory":
            memory = Self.bytes(argument)
            if memory == nil { right = Self.size }
        case "--memory-hard":
            hardMemory = Self.bytes(argument)
            if hardMemory == nil { right = Self.size }
        case "--time-limit":
            time = Self.duration(argument)
            if time == nil { right = "a time such as 5s, 500ms or 2m" }
        case "--total-time-limit":
            totalTime = Self.duration(argument)
            if totalTime == nil { right = "a time such as 60s, 500ms or 2m" }
        default:
            logLevel = ScriptLog.Level(rawValue: argument)
            if logLevel == nil {
                right = "one of " + ScriptLog.Level.allCases.map(\.rawValue).joined(separator: ", ")
            }
        }
        if let right {
            throw LuaCommandLine.UsageError(
                option: option, problem: "'\(option)': expected \(right), got '\(argument)'")
        }
    }

    /// Applies the options to a configuration; `store` is the file that the command line itself names.
    package func apply(to configuration: inout ScriptConfiguration, store: String? = nil) {
        if isSandboxed {
            let own = store.map { [$0] } ?? []
            configuration.rights = .sandboxed(
                files: isReadOnly
                    ? .folders([], reading: allowedFolders + own)
                    : .folders(allowedFolders + own))
        }
        configuration.rights.opensStoresReadOnly = isReadOnly
        // A script may exceed its limit by a quarter, so it reaches this limit before the system's.
        configuration.limits.memory =
            memory ?? hardMemory.map { $0 / 4 * 3 } ?? (isSandboxed ? Self.sandboxMemory : nil)
        configuration.limits.time = time
        configuration.limits.totalTime = totalTime
        if let level = logLevel ?? ScriptLog.Level.ofEnvironment(configuration) {
            configuration.logger = ScriptLog.standardError(level)
        }
    }

    /// Opens the store that the command line names as the global `store`.
    package func open(_ path: String, in context: ScriptContext) throws(LuaError) {
        let options = context.state.makeTable()
        options["path"] = .text(path)
        options["schema_version"] = .integer(Int64(schemaVersion))
        let open = try context.module.get("open")
        let store = try context.state.call(open, [.table(options)])
        context.state.globals["store"] = store.first ?? .nil
    }

    /// Makes the system end the process beyond ``hardMemory``; call it before other threads start.
    package func limitProcess() {
        guard let hardMemory else { return }
        ProcessServices.limitMemory(
            to: hardMemory, message: "moonpool: \(MemoryLimitReached(limit: hardMemory))")
    }

    /// Parses a size: a number, optionally followed by K, M or G, optionally followed by `B` or `iB`.
    static func bytes(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let shifts = ["": 0, "K": 10, "M": 20, "G": 30]
        var unit = text.dropFirst(digits.count).uppercased()
        if unit.hasSuffix("IB") {
            unit.removeLast(2)
        } else if unit.hasSuffix("B") {
            unit.removeLast()
        }
        guard let number = Int(digits), let shift = shifts[unit] else { return nil }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: 1 << shift)
        // A smaller limit would not even suffice for Lua's libraries.
        return overflows || bytes < 64 << 10 ? nil : bytes
    }

    /// Parses a duration: a number, optionally followed by ms, s, m or h; the default unit is seconds.
    static func duration(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let units = ["": 1.0, "ms": 0.001, "s": 1, "m": 60, "h": 3600]
        guard let number = Double(digits), let unit = units[String(text.dropFirst(digits.count))],
            number * unit >= 0.001, number * unit <= 1e9
        else { return nil }
        return .nanoseconds(Int64((number * unit * 1e9).rounded()))
    }
}
