import DataFormats
import ObjectStore
import SystemCalls
import Transfer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file beside a store in which its publisher or follower reports its progress, about once a second.
///
/// Other processes show its content. The file is not part of the store, and replication does not depend on it.
package struct StatusFile {
    /// The suffix that follows the path of the store.
    package static let suffix = "-replication"

    private let store: String
    private var path: String { store + Self.suffix }
    package var role: ReplicationRole
    private let stream: String
    private let servers: String
    private var lastWrite: ContinuousClock.Instant?

    package init(_ store: String, _ role: ReplicationRole, stream: String, servers: String) {
        self.store = store
        self.role = role
        self.stream = stream
        self.servers = servers
    }

    /// Removes the file of a store.
    package static func remove(_ store: String) { unlink(store + suffix) }

    /// Writes the file if it was last written at least a second ago.
    package mutating func writeEachSecond(_ status: ReplicationStatus) {
        if let lastWrite, ContinuousClock.now - lastWrite < .seconds(1) { return }
        write(status)
    }

    /// Writes the file, with the mode of the store.
    ///
    /// A file that cannot be written does not stop replication.
    package mutating func write(_ status: ReplicationStatus, hasEnded: Bool = false) {
        lastWrite = .now
        let numbers = status.snapshot
        var json = JSONWriter()
        json.beginObject()
        for (name, text) in [
            ("role", role.rawValue), ("stream", stream), ("servers", servers),
            ("time", Timestamp.now.description), ("error", numbers.lastError?.message ?? ""),
            ("error_time", numbers.lastError?.time.description ?? ""),
            ("error_recovery", numbers.lastError?.recovery?.description ?? ""),
            ("state", hasEnded ? "ended" : numbers.isConnected ? "connected" : "disconnected"),
            ("lease_holder", numbers.lease?.holder ?? ""),
        ] {
            json.member(name, text)
        }
        for (name, number) in [
            ("process", UInt64(getpid())), ("sequence", numbers.sequence),
            ("version", numbers.version), ("lag", numbers.lag),
            ("commits", UInt64(numbers.commits)), ("skipped", UInt64(numbers.skipped)),
            ("milli_rate", UInt64(max(0, numbers.rate * 1000))),
            ("lease", numbers.lease?.number ?? 0),
        ] {
            json.member(name, number)
        }
        json.endObject()
        json.newLine()
        let temporary = "\(path).\(getpid())"
        unlink(temporary)
        guard let file = fopen(temporary, "wx") else { return }
        FileAccess(at: store)?.applyToCompanion(fileno(file))
        let bytes = json.bytes
        let isWritten = fwrite(bytes, 1, bytes.count, file) == bytes.count
        if fclose(file) != 0 || !isWritten || rename(temporary, path) != 0 { unlink(temporary) }
    }

    /// Reads the file of a store; nil if it does not exist.
    package static func read(_ store: String) -> JSONAnswer? {
        guard let file = fopen(store + suffix, "r") else { return nil }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&buffer, 1, buffer.count, file)
        return try? JSONAnswer(Array(buffer[..<count]))
    }

    /// Returns whether a process exists.
    package static func isRunning(_ process: UInt64) -> Bool {
        guard let number = pid_t(exactly: process), number > 0 else { return false }
        return kill(number, 0) == 0 || errno == EPERM
    }
}

/// The members of a JSON object: a status file, a record, or a reply of a server.
package struct JSONAnswer {
    private let tape = JSONTape()

    package init(_ bytes: [UInt8]) throws { try JSONText.read(bytes, onto: tape) }

    private func node(_ path: [String]) -> JSONNode? {
        path.reduce(JSONNode(tape)) { (node: JSONNode?, name) in node?.members[name] }
    }

    package func number(_ path: String...) -> UInt64 { UInt64(clamping: node(path)?.int ?? 0) }

    /// The names of the members of an object.
    package func names(_ path: String...) -> [String] {
        var names: [String] = []
        node(path)?.forEachMember { name, _ in names.append(name) }
        return names
    }

    package func flag(_ path: String...) -> Bool { node(path)?.kind == .truth }

    package func text(_ path: String...) -> String { node(path)?.string ?? "" }

    package var hasError: Bool { node(["error"]) != nil }
}
