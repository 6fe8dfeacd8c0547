/// The edits of one list, set or map between two versions, by position, in order.
///
/// Adjacent edits of one kind are combined, so filling or emptying a collection takes little space. The positions of an
/// edit are those at the time of the edit.
package struct CollectionEdits: Sendable, Hashable {
    /// One edit.
    package enum Edit: Sendable, Hashable {
        /// An insertion of elements; `at` is the position of the first one.
        case insert(at: Int, count: Int)
        /// A removal of elements; `at` was the position of the first one.
        case remove(at: Int, count: Int)
        /// An element that was replaced, possibly by an equal one.
        case set(at: Int)
        /// An element that was removed at `from` and inserted at `to`.
        case move(from: Int, to: Int)
    }

    /// The maximum number of edits; with more, they are dropped, because comparing the two versions costs less.
    package static let limit = 1024

    /// The edits in the order in which they were made; empty if they were dropped.
    package private(set) var edits: [Edit] = []

    /// Whether the edits are known; if not, compare the two versions instead.
    package private(set) var isComplete = true

    /// Creates a list of no edits.
    package init() {}

    /// Creates a list of edits.
    package init(_ edits: some Sequence<Edit>) {
        for edit in edits { append(edit) }
    }

    /// Whether there are no edits.
    package var isEmpty: Bool { isComplete && edits.isEmpty }

    /// Adds an edit.
    package mutating func append(_ edit: Edit) {
        guard isComplete else { return }
        if let last = edits.last, let joined = Self.join(last, edit) {
            edits[edits.count - 1] = joined
            return
        }
        if edits.count == Self.limit { return forget() }
        edits.append(edit)
    }

    /// Adds later edits.
    package mutating func append(later: CollectionEdits) {
        guard later.isComplete else { return forget() }
        if edits.isEmpty, isComplete {
            edits = later.edits
        } else {
            for edit in later.edits { append(edit) }
        }
    }

    /// Marks the edits as unknown.
    package mutating func forget() {
        edits = []
        isComplete = false
    }

    private static func join(_ first: Edit, _ second: Edit) -> Edit? {
        switch (first, second) {
        case (.insert(let start, let count), .insert(let at, let more))
        where at >= start && at <= start + count:
            return .insert(at: start, count: count + more)
        case (.remove(let start, let count), .remove(let at, let more))
        where at <= start && start <= at + more:
            return .remove(at: at, count: count + more)
        case (.set(let start), .set(let at)) where at == start:
            return first
        default:
            return nil
        }
    }
}

/// The stored form: a number, 0 for dropped edits, otherwise the number of edits plus one. Then for each edit a number
/// whose two lowest bits are its kind and whose other bits are its first position, and the count or the second position
/// if the kind has one.
extension CollectionEdits {
    func encode(into writer: inout ByteWriter) {
        guard isComplete else {
            writer.number(0)
            return
        }
        writer.number(UInt64(edits.count) + 1)
        for edit in edits {
            switch edit {
            case .insert(let at, let count):
                writer.number(UInt64(at) << 2)
                writer.number(UInt64(count))
            case .remove(let at, let count):
                writer.number(UInt64(at) << 2 | 1)
                writer.number(UInt64(count))
            case .set(let at):
                writer.number(UInt64(at) << 2 | 2)
            case .move(let from, let to):
                writer.number(UInt64(from) << 2 | 3)
                writer.number(UInt64(to))
            }
        }
    }

    init(from reader: inout ByteReader) throws(DamagedEncoding) {
        self.init()
        let number = try reader.number()
        guard number > 0 else {
            forget()
            return
        }
        guard number - 1 <= UInt64(Self.limit) else { throw reader.damaged }
        for _ in 0..<(number - 1) {
            let word = try reader.number()
            let position = try Self.position(word >> 2, reader)
            let edit: Edit
            switch word & 3 {
            case 0: edit = .insert(at: position, count: try Self.position(reader.number(), reader))
            case 1: edit = .remove(at: position, count: try Self.position(reader.number(), reader))
            case 2: edit = .set(at: position)
            default: edit = .move(from: position, to: try Self.position(reader.number(), reader))
            }
            edits.append(edit)
        }
    }

    /// Reads a position that is small enough that sums of positions cannot overflow.
    private static func position(
        _ number: UInt64, _ reader: ByteReader
    ) throws(DamagedEncoding) -> Int {
        guard number < 1 << 48 else { throw reader.damaged }
        return Int(number)
    }
}
