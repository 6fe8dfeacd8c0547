/// The history's record of a write that restored the data of an earlier version, by undo or redo.
///
/// Each process that opens the file derives from this alone which change is undone or redone next.
package struct Restoration: Hashable, Sendable {
    /// The version whose data this one has again.
    package var state: UInt64
    /// The versions that are reversed, one each time, to redo what was undone; the next one last.
    package var redoable: [UInt64]

    /// Describes a restoration.
    package init(state: UInt64, redoable: [UInt64]) {
        self.state = state
        self.redoable = redoable
    }

    /// More than this can be redone only from the newest on.
    static let limit = 1000
}

/// The script that has committed a version, and when.
package struct VersionAuthor: Hashable, Sendable {
    /// The time of the commit, in microseconds since 1970.
    package let time: Int64
    /// The process that has committed.
    package let process: Int32
    /// The name of the script.
    package let script: String

    /// Longer names are cut.
    private static let longestName = 200

    /// Creates an author.
    package init(time: Int64, process: Int32, script: String) {
        self.time = time
        self.process = process
        self.script = script
    }

    init(from reader: inout ByteReader) throws(DamagedEncoding) {
        time = try reader.signed()
        process = Int32(truncatingIfNeeded: try reader.signed())
        let count = try reader.count()
        guard count <= Self.longestName else { throw reader.damaged }
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes.append(try reader.byte()) }
        script = String(decoding: bytes, as: UTF8.self)
    }

    func append(to writer: inout ByteWriter) {
        writer.signed(time)
        writer.signed(Int64(process))
        let name = script.utf8.prefix(Self.longestName)
        writer.number(UInt64(name.count))
        for byte in name { writer.byte(byte) }
    }
}

/// The history's record of a version.
package struct HistoryEntry: Sendable {
    /// The changes of the version.
    package let changes: ChangeSet
    /// Whose data the version brought back, if it did.
    package let restoration: Restoration?
    /// Whether the values before the version are kept, so that it can be reversed.
    package let keepsOldValues: Bool
    /// The script that has committed the version; nil for a program without scripts, and for older files.
    package let author: VersionAuthor?
}

/// The part of an entry after the change set.
///
/// A byte of flags: 8 = the author: time, process and name of the script; 1 = a restoration: the version whose data it
/// has, the number of redoable versions and these; 4 = the values that the change set has replaced, as ``OldValueEncoder`` writes them; 2 = the same as older files have them.
struct HistoryTrailer {
    static let hasRestoration: UInt8 = 1
    static let hasSpans: UInt8 = 2
    static let hasHunks: UInt8 = 4
    static let hasAuthor: UInt8 = 8

    private(set) var restoration: Restoration?
    private(set) var hasOldValues = false
    /// Whether collections have any number of hunks.
    private(set) var hasHunks = false
    private(set) var author: VersionAuthor?

    /// Nothing.
    init() {}

    /// Reads what follows a change set and stops before the old values.
    init(from reader: inout ByteReader) throws(DamagedEncoding) {
        guard reader.remaining > 0 else { return }
        let flags = try reader.byte()
        guard flags <= 15 else { throw reader.damaged }
        if flags & Self.hasAuthor != 0 { author = try VersionAuthor(from: &reader) }
        hasHunks = flags & Self.hasHunks != 0
        hasOldValues = hasHunks || flags & Self.hasSpans != 0
        guard flags & Self.hasRestoration != 0 else { return }
        let state = try reader.number()
        var redoable: [UInt64] = []
        for _ in 0..<(try reader.count()) { redoable.append(try reader.number()) }
        restoration = Restoration(state: state, redoable: redoable)
    }
}
