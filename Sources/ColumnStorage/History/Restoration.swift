/// The history's record of a write that restored the data of an earlier version, by undo or redo.
///
/// Each process that opens the file determines from this record alone which change is undone or redone next.
package struct Restoration: Hashable, Sendable {
    /// The version whose data was restored.
    package var state: UInt64
    /// The versions to reverse, one at a time, for a redo; the next one is the last.
    package var redoable: [UInt64]

    /// Creates a restoration.
    package init(state: UInt64, redoable: [UInt64]) {
        self.state = state
        self.redoable = redoable
    }

    /// The maximum number of redoable versions; if there are more, only the newest ones can be redone.
    static let limit = 1000
}

/// The script that committed a version, and the time.
package struct VersionAuthor: Hashable, Sendable {
    /// The time of the commit, in microseconds since 1970.
    package let time: Int64
    /// The id of the process that committed.
    package let process: Int32
    /// The name of the script.
    package let script: String

    /// The maximum length of a name; longer names are truncated.
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
    /// The changes of the version; without that of the schema if ``changesOnlyVersion`` is true.
    package let changes: ChangeSet
    /// Whether the version has only another version of the schema.
    package let changesOnlyVersion: Bool
    /// The version whose data was restored; nil if the version is not an undo or redo.
    package let restoration: Restoration?
    /// Whether the replaced values are kept, so that the version can be reversed.
    package let keepsOldValues: Bool
    /// The script that committed the version; nil for a program without scripts, and in older files.
    package let author: VersionAuthor?
}

/// The part of an entry after the change set.
///
/// It begins with a byte of flags. 8 = the author: time, process and name of the script; 1 = a restoration: the version
/// whose data was restored, the number of redoable versions, and their numbers; 4 = the replaced values in the form of
/// ``OldValueEncoder``; 2 = the replaced values in the form of older files.
struct HistoryTrailer {
    static let hasRestoration: UInt8 = 1
    static let hasSpans: UInt8 = 2
    static let hasHunks: UInt8 = 4
    static let hasAuthor: UInt8 = 8

    private(set) var restoration: Restoration?
    private(set) var hasOldValues = false
    /// Whether collections may have several hunks.
    private(set) var hasHunks = false
    private(set) var author: VersionAuthor?

    /// Creates an empty trailer.
    init() {}

    /// Decodes the bytes after a change set, up to the old values.
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
