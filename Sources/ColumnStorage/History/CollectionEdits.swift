/// The edits of one list, set or map between two versions, by position, in order.
///
/// Neighbouring edits of one kind are one edit, so that filling or emptying a collection stays
/// small. Positions count as they were when the edit was made.
package struct CollectionEdits: Sendable, Hashable {
    /// One edit.
    package enum Edit: Sendable, Hashable {
        /// New elements, the first of them at `at`.
        case insert(at: Int, count: Int)
        /// Elements that are gone, the first of them from `at`.
        case remove(at: Int, count: Int)
        /// An element that was replaced, perhaps by an equal one.
        case set(at: Int)
        /// An element that was removed at `from` and inserted at `to`.
        case move(from: Int, to: Int)
    }

    /// More edits than this are forgotten: comparing the two versions is cheaper then.
    package static let limit = 1024

    /// The edits, the first one made first; empty if they were forgotten.
    package private(set) var edits: [Edit] = []

    /// False if there were too many edits; compare the two versions instead.
    package private(set) var isComplete = true

    /// No edits.
    package init() {}

    /// These edits.
    package init(_ edits: some Sequence<Edit>) {
        for edit in edits { append(edit) }
    }

    /// Whether nothing was done.
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

    /// Adds what was done later.
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

/// The stored form: a number, 0 for edits that were forgotten, else one more than there are; for
/// each edit a number whose two lowest bits tell its kind and the others its first position, and
/// the count or the other position where there is one.
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

    /// Small enough that sums of positions cannot overflow.
    private static func position(
        _ number: UInt64, _ reader: ByteReader
    ) throws(DamagedEncoding) -> Int {
        guard number < 1 << 48 else { throw reader.damaged }
        return Int(number)
    }
}
