// RealmFiles: reads Realm database files of every released format without Realm.
//
// Layers: FileBytes maps and decrypts; NodeReader opens and checks nodes and limits the work; the leaves decode
// columns; RealmFile has the classes; RealmPass reads the rows of a class, up to 256 at a time.
//
// Only Bytes/ uses pointers. Everything that a file contains is checked before it is used.

/// A Realm file that is open for reading.
///
/// Reads formats 2 to 11 and 20 to 24, which apps have written since 2014, encrypted or not. Never writes to the file
/// and creates no other files. Confined to one thread.
///
/// ```swift
/// let file = try RealmFile("app.realm")
/// for found in file.classes where found.isUserClass {
///     try file.makePass().read(found) { rows in
///         for row in 0..<rows.count { print(try rows.value(row, 0)) }
///     }
/// }
/// ```
package final class RealmFile {
    /// The kind of history in the file.
    package enum History: Int64, Sendable {
        case none, beside, inside, syncClient, syncServer
    }

    /// The path of the file.
    package let path: String
    /// The file format; 0 for a file without content.
    package let format: Int
    /// Whether the file was written as a copy and not modified since.
    package let isStreaming: Bool
    /// The number of the last commit; nil if the file does not contain it.
    package let commit: Int?
    /// The kind of history; `syncClient` for a synchronized file.
    package let history: History
    /// The number of bytes in use, including free space inside the file.
    package let logicalSize: Int
    /// The classes and Realm's own tables, in the order of the file.
    package private(set) var classes: [RealmClass] = []
    /// The unreadable parts; empty unless the file was opened for rescue.
    package private(set) var damage = RealmDamage()
    /// Whether the version of the previous commit is read, because the newest one is damaged.
    package private(set) var isPreviousVersion = false

    let isRescuing: Bool
    let bytes: FileBytes
    /// The indexes of classes by table key.
    private(set) var indexes: [Int64: Int] = [:]
    private let header: [UInt8]

    /// The size of the file in bytes.
    package var fileSize: Int { bytes.fileSize }
    /// Whether the file is encrypted.
    package var isEncrypted: Bool { bytes.isEncrypted }
    /// The approximate maximum number of decrypted bytes in memory; 64 MiB by default.
    package var decryptedLimit: Int {
        get { bytes.decryptedLimit }
        set { bytes.decryptedLimit = newValue }
    }
    /// The tables with objects of the app: those whose names begin with `class_`, or all tables if there are none.
    package var userClasses: [RealmClass] {
        let found = classes.filter(\.isUserClass)
        return found.isEmpty && !classes.contains { $0.name.hasPrefix("class_") } ? classes : found
    }

    /// Opens a file.
    ///
    /// `rescue` opens a damaged file as far as possible; ``damage`` lists the missing parts.
    ///
    /// Throws `RealmFileError`.
    package init(_ path: String, key: RealmKey? = nil, rescue: Bool = false) throws {
        self.path = path
        isRescuing = rescue
        bytes = try FileBytes(path, key: key)
        self.header = bytes.currentHeader()
        let header = try FileHeader(bytes, isRescuing: rescue)
        isStreaming = header.isStreaming
        var content: FileContent?
        if header.live.top == 0, !header.isStreaming {
            content = FileContent(version: header.live, logicalSize: bytes.count)
        } else {
            do {
                content = try FileContent(header.live, bytes, rescue)
            } catch {
                guard rescue else { throw error }
                damage.add(error)
            }
        }
        if content == nil, let previous = header.previous {
            // The error is ignored: an error that affects both versions was reported for the newest one.
            content = try? FileContent(previous, bytes, true)
            isPreviousVersion = content != nil
        }
        if content == nil {
            content =
                FileContent(searching: bytes, format: header.live.format)
                ?? FileContent(salvaging: bytes, format: header.live.format)
        }
        guard let content else { throw RealmFileError.damaged("it has no readable top node") }
        format = content.version.format
        commit = content.commit
        history = content.history
        logicalSize = content.logicalSize
        try readClasses(content)
    }

    // MARK: - Opening

    private func readClasses(_ content: FileContent) throws {
        let reader = makeReader()
        var found: [(index: Int, reference: Int64)] = []
        for (index, reference) in content.tables.enumerated()
        where reference != 0 && reference & 1 == 0 {
            found.append((index, reference))
        }
        if Set(found.map(\.reference)).count < found.count {
            try tolerate(RealmFileError.damaged("two tables have the same address"))
        }
        if format < 10, format > 0 {
            try OldTables(reader, names: content.names, tables: found, tolerate: tolerate).read(
                into: &classes)
            connectBacklinks()
            try readOldPrimaryKeys()
            return
        }
        // Links refer to tables by key, and these tables can come later.
        var tables: [NewTable] = []
        for (index, reference) in found {
            do {
                tables.append(
                    try NewTable(
                        reader, content.names[index], reference: reference, tableIndex: index,
                        index: tables.count))
                let key = tables[tables.count - 1].key
                if indexes[key] == nil { indexes[key] = tables.count - 1 }
            } catch {
                try tolerate(error, "table '\(content.names[index])'")
            }
        }
        let keys = indexes
        for table in tables {
            do {
                classes.append(try table.makeClass(reader, keys, tolerate))
            } catch {
                try tolerate(error, "table '\(table.name)'")
                classes.append(table.emptyClass)
            }
        }
        connectBacklinks()
    }

    /// Resolves the linking property of each backlink from the key of its column or, in formats below 10, its position
    /// among all columns.
    private func connectBacklinks() {
        for index in classes.indices {
            for position in classes[index].backlinks.indices {
                let link = classes[index].backlinks[position]
                guard classes.indices.contains(link.origin) else { continue }
                classes[index].backlinks[position].property =
                    classes[link.origin].columnKeys.firstIndex(of: link.originColumn)
            }
        }
    }

    /// Reads the primary keys of formats below 10 from the table `pk`, which maps class names to properties.
    private func readOldPrimaryKeys() throws {
        guard let table = classes.first(where: { $0.name == "pk" }),
            let className = table.properties.firstIndex(where: { $0.name == "pk_table" }),
            let property = table.properties.firstIndex(where: { $0.name == "pk_property" })
        else { return }
        do {
            try makePass().read(table) { rows in
                for row in 0..<rows.count {
                    guard case .string(let name) = try rows.value(row, className),
                        let index = classes.firstIndex(where: { $0.name == "class_" + name })
                            ?? classes.firstIndex(where: { $0.name == name })
                    else { continue }
                    switch try rows.value(row, property) {
                    case .string(let wanted):
                        classes[index].primaryKey =
                            classes[index].properties.firstIndex { $0.name == wanted }
                    case .int(let position):
                        guard let position = Int(exactly: position),
                            classes[index].properties.indices.contains(position)
                        else { continue }
                        classes[index].primaryKey = position
                    default: continue
                    }
                }
            }
        } catch {
            try tolerate(error, "table 'pk'")
        }
    }

    /// Returns the schema version of the app from the table `metadata`; nil if there is none.
    package func schemaVersion() throws -> UInt64? {
        guard let table = classes.first(where: { $0.name == "metadata" }),
            let property = table.properties.firstIndex(where: {
                $0.name == "version" && $0.type == .int && $0.collection == nil
            })
        else { return nil }
        var version: UInt64?
        do {
            try makePass().read(table) { rows in
                if version == nil, rows.count > 0,
                    case .int(let number) = try rows.value(0, property)
                {
                    // An app that has never set a version has the version -1.
                    version = number < 0 ? nil : UInt64(number)
                }
            }
        } catch {
            try tolerate(error, "table 'metadata'")
        }
        return version
    }

    // MARK: - Reading

    private func tolerate(_ error: any Error) throws { try tolerate(error, "") }

    /// Begins a pass over the file, in which every object should be read at most once or twice.
    package func makePass() -> RealmPass { RealmPass(self) }

    /// Throws `changed` if another program has overwritten the content that was read.
    ///
    /// One commit of another program is harmless, because it keeps the content of the previous commit and its entry in
    /// the header.
    package func checkUnchanged() throws {
        let current = bytes.currentHeader()
        if current == header { return }
        if !isEncrypted, current.count == 24, header.count == 24 {
            let live = Int(header[23] & 1)
            let isKept =
                current[8 * live..<8 * live + 8] == header[8 * live..<8 * live + 8]
                && current[20 + live] == header[20 + live]
            if isKept { return }
        }
        throw RealmFileError(
            .changed,
            "another program has written to '\(path)' while it was read; close the app, or copy the "
                + "file and read the copy")
    }

    /// Adds to the numbers of lost values and objects of a damaged file.
    func recordLost(values: Int, objects: Int) {
        damage.lostValues += values
        damage.lostObjects += objects
    }

    func makeReader() -> NodeReader {
        NodeReader(bytes, end: isRescuing ? bytes.count : logicalSize)
    }

    /// Records damage while rescuing; throws the error otherwise.
    func tolerate(_ error: any Error, _ location: @autoclosure () -> String) throws {
        let location = location()
        var located = error
        if let error = error as? RealmFileError, !location.isEmpty { located = error.at(location) }
        guard isRescuing, let found = located as? RealmFileError, found.kind == .damaged else {
            throw located
        }
        damage.add(found)
    }
}

/// The unreadable parts of a damaged file.
package struct RealmDamage: Sendable {
    /// The number of parts that could not be read.
    package private(set) var count = 0
    /// The messages about the first 100 parts.
    package private(set) var messages: [String] = []
    /// The number of values that were replaced by null or omitted from a collection.
    package internal(set) var lostValues = 0
    /// The known number of missing objects.
    package internal(set) var lostObjects = 0

    /// Whether everything was read.
    package var isEmpty: Bool { count == 0 }

    mutating func add(_ error: any Error) {
        count += 1
        guard messages.count < 100 else { return }
        messages.append((error as? RealmFileError)?.detail ?? "\(error)")
    }
}

/// An error in reading a Realm file.
package struct RealmFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Kind: Hashable, Sendable {
        /// The file does not exist or cannot be opened.
        case unreadable
        /// The file is not a Realm file, or an encrypted one that was opened without its key.
        case notRealm
        /// The format is not one of the formats that Realm has released.
        case unsupportedFormat
        /// The text is not a key.
        case invalidKey
        /// The key belongs to another file.
        case wrongKey
        /// Realm was interrupted while it converted the file to a newer format.
        case unfinishedUpgrade
        /// The file is inconsistent.
        case damaged
        /// Another program has written to the file while it was being read.
        case changed
    }

    /// The kind of failure.
    package let kind: Kind
    /// The fault, its location, and the solution.
    package let message: String
    /// Whether the message names the class or the object.
    private let isLocated: Bool

    init(_ kind: Kind, _ message: String, isLocated: Bool = false) {
        self.kind = kind
        self.message = message
        self.isLocated = isLocated
    }

    /// The message.
    package var description: String { message }

    /// Returns the error of an inconsistency in the file.
    static func damaged(_ what: String) -> RealmFileError {
        RealmFileError(.damaged, prefix + what)
    }

    /// Throws the error of an inconsistency in the file unless a condition holds.
    @inline(__always)
    static func require(_ isSound: Bool, _ fault: @autoclosure () -> String) throws {
        if !isSound { throw damaged(fault()) }
    }

    /// Returns the same error with the class, property or object where it occurred; an existing location is kept.
    func at(_ location: @autoclosure () -> String) -> RealmFileError {
        guard kind == .damaged, !isLocated, message.hasPrefix(Self.prefix) else { return self }
        return RealmFileError(
            .damaged, Self.prefix + "\(location()): " + message.dropFirst(Self.prefix.count),
            isLocated: true)
    }

    private static let prefix = "the file is damaged: "

    /// The description of the damage, without the prefix of the message.
    var detail: String {
        message.hasPrefix(Self.prefix) ? String(message.dropFirst(Self.prefix.count)) : message
    }

    /// Returns an address in the notation of messages.
    static func hex(_ address: Int) -> String { "0x" + String(address, radix: 16) }
}

extension RealmFile {
    /// Returns the number of bytes in the nodes of each class, in the order of ``classes``.
    ///
    /// Nodes that cannot be read are not counted.
    package func sizes() -> [Int] {
        let reader = makeReader()
        return classes.map { found in
            var total = 0
            var open = [found.address]
            while let address = open.popLast() {
                // Nodes that cannot be read are not counted here; `check` reports them.
                guard let node = try? reader.node(address) else { continue }
                total += 8 + (node.payload.count + 7) & ~7
                guard node.hasReferences else { continue }
                for index in 0..<node.count {
                    let value = node.int(index)
                    if value != 0, value & 7 == 0, value > 0 { open.append(value) }
                }
            }
            return total
        }
    }
}
