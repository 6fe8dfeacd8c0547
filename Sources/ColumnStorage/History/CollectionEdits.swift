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
        assert(isComplete || edits.isEmpty, "unknown edits are dropped")
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
        assert(edits.count <= Self.limit, "more edits than the limit are dropped")
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

/// The replaced parts of a collection in order: the numbers of old and new elements, and of unchanged elements before
/// each part.
///
/// A moved element is removed at its old index and inserted at its new one.
struct CollectionHunks: Equatable {
    struct Hunk: Equatable {
        /// The number of unchanged elements since the previous hunk.
        var kept: Int
        /// The number of new elements at this position.
        var new: Int
        /// The number of old elements that they replace.
        var old: Int
    }

    let hunks: [Hunk]

    /// Computes the replaced parts of a collection of `count` elements; nil if the edits are unknown or do not fit.
    ///
    /// Takes time in proportion to the square of the number of edits or, for few elements, to the number of elements.
    init?(_ edits: CollectionEdits, of count: Int) {
        guard let ends = edits.untouchedEnds(of: count) else { return nil }
        let number = edits.edits.count
        if number * number > count {
            let size = count + edits.growth
            hunks = [
                Hunk(
                    kept: ends.first, new: size - ends.first - ends.last,
                    old: count - ends.first - ends.last)
            ]
            return
        }
        var stretches = Stretches(count)
        for edit in edits.edits { guard stretches.apply(edit) else { return nil } }
        hunks = stretches.hunks(of: count)
    }
}

/// The elements of an edited collection in order, as runs of old elements and of new ones.
private struct Stretches {
    private struct Stretch {
        /// The old position of the first element; nil for new elements.
        var start: Int?
        var count: Int
    }

    private var stretches: [Stretch]

    init(_ count: Int) { stretches = [Stretch(start: 0, count: count)] }

    /// Applies an edit; returns false if it is out of range.
    mutating func apply(_ edit: CollectionEdits.Edit) -> Bool {
        switch edit {
        case .insert(let at, let count): return insert(count, at: at)
        case .remove(let at, let count): return remove(count, at: at)
        case .set(let at): return remove(1, at: at) && insert(1, at: at)
        case .move(let from, let to): return remove(1, at: from) && insert(1, at: to)
        }
    }

    /// Splits a run so that one begins at a position, and returns its index; nil if the position is out of range.
    private mutating func cut(at position: Int) -> Int? {
        assert(position >= 0, "an edit begins in the collection")
        var rest = position
        for index in stretches.indices {
            if rest == 0 { return index }
            let stretch = stretches[index]
            if rest < stretch.count {
                stretches[index].count = rest
                let upper = Stretch(
                    start: stretch.start.map { $0 + rest }, count: stretch.count - rest)
                stretches.insert(upper, at: index + 1)
                return index + 1
            }
            rest -= stretch.count
        }
        return rest == 0 ? stretches.count : nil
    }

    private mutating func insert(_ count: Int, at position: Int) -> Bool {
        guard let index = cut(at: position) else { return false }
        stretches.insert(Stretch(start: nil, count: count), at: index)
        return true
    }

    private mutating func remove(_ count: Int, at position: Int) -> Bool {
        guard let first = cut(at: position), let last = cut(at: position + count) else {
            return false
        }
        stretches.removeSubrange(first..<last)
        return true
    }

    func hunks(of count: Int) -> [CollectionHunks.Hunk] {
        var hunks: [CollectionHunks.Hunk] = []
        var hunk = CollectionHunks.Hunk(kept: 0, new: 0, old: 0)
        // The old position up to which elements have been processed.
        var seen = 0
        func close(at start: Int) {
            hunk.old = start - seen
            if hunk.new > 0 || hunk.old > 0 {
                hunks.append(hunk)
                hunk = CollectionHunks.Hunk(kept: 0, new: 0, old: 0)
            }
        }
        for stretch in stretches {
            guard let start = stretch.start else {
                hunk.new += stretch.count
                continue
            }
            assert(start >= seen, "the old elements that remain keep their order")
            close(at: start)
            hunk.kept += stretch.count
            seen = start + stretch.count
        }
        close(at: count)
        assert(
            hunks.reduce(0) { $0 + $1.kept + $1.old } <= count,
            "each old element is in one hunk at most")
        return hunks
    }
}

extension CollectionEdits {
    /// The number of elements by which the collection grew.
    fileprivate var growth: Int {
        edits.reduce(0) { growth, edit in
            switch edit {
            case .insert(_, let count): growth + count
            case .remove(_, let count): growth - count
            case .set, .move: growth
            }
        }
    }

    /// Returns the numbers of elements at the beginning and at the end of a collection of `count` that the edits did
    /// not touch.
    ///
    /// Returns nil if the edits are unknown.
    fileprivate func untouchedEnds(of count: Int) -> (first: Int, last: Int)? {
        guard isComplete else { return nil }
        var (first, last, size) = (count, count, count)
        for edit in edits {
            switch edit {
            case .insert(let at, let more):
                first = min(first, at)
                last = min(last, size - at)
                size += more
            case .remove(let at, let fewer):
                first = min(first, at)
                last = min(last, size - at - fewer)
                size -= fewer
            case .set(let at):
                first = min(first, at)
                last = min(last, size - at - 1)
            case .move(let from, let to):
                first = min(first, from, to)
                last = min(last, size - 1 - max(from, to))
            }
        }
        guard first >= 0, last >= 0, first + last <= min(count, size) else {
            return edits.isEmpty ? (count, 0) : nil
        }
        return (first, last)
    }
}
