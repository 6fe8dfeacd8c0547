import ColumnStorage

/// The old state of an element of an observed sequence that is in no readable version.
enum ElementDetail {
    /// A plain value or, in a map, the value of a key.
    case value(Value, mapKey: String)
    /// The section of a row.
    case section(Scalar)
}

/// The combined changes of several commits to a sequence, reported as if the silent commits had occurred first.
///
/// A caller that writes silently knows the effect of the write on the sequence. Therefore, deletions and modifications
/// are indexes in the old sequence with the silent changes applied, and insertions are indexes in the new sequence.
///
/// The sequence is kept as runs of unchanged elements and as single changed elements. Adding a commit takes time in
/// proportion to the elements that it and all commits before it have touched.
struct CoalescedChanges {
    private enum Origin { case old, silent, reported }

    private struct Piece {
        var count: Int
        var origin = Origin.old
        /// Whether a commit that was not silent deleted the element.
        var isDeleted = false
        var isModified = false
        var key: ObjectKey?
        var detail: ElementDetail?
    }

    // The first run is longer than any sequence, because the real length does not matter.
    private var pieces = [Piece(count: Int.max / 4)]
    /// The elements that silent commits removed.
    private(set) var silentlyLost: [ElementDetail] = []
    /// Whether a silent commit was added.
    private(set) var hasSilent = false

    /// Adds the changes of a commit.
    ///
    /// `lost` and `gained` describe the deleted and the inserted elements; both may be empty.
    mutating func add(
        _ changes: CollectionChangeSet, isSilent: Bool, lost: [ElementDetail] = [],
        gained: [ElementDetail] = []
    ) {
        if changes.isEmpty { return }
        assert(
            lost.isEmpty || lost.count == changes.deletions.count,
            "each deletion has its old state")
        assert(
            gained.isEmpty || gained.count == changes.insertions.count,
            "each insertion has its new state")
        if isSilent { hasSilent = true }
        delete(changes, isSilent, lost)
        insert(changes, isSilent, gained)
        if !isSilent { modify(changes) }
    }

    /// The elements that silent commits added and that the observer can see.
    var silentlyGained: [ElementDetail] {
        pieces.filter { $0.origin == .silent }.compactMap(\.detail)
    }

    /// Returns the changes that are not silent, with the known values of the deleted elements.
    func reported() -> (changes: CollectionChangeSet, lost: [ElementDetail]) {
        var result = CollectionChangeSet()
        var lost: [ElementDetail] = []
        var before = 0
        var now = 0
        for piece in pieces {
            if piece.isDeleted {
                result.deletions.append(before)
                if let key = piece.key { result.deletedKeys.append(key) }
                if let detail = piece.detail { lost.append(detail) }
                before += 1
                continue
            }
            if piece.origin == .reported {
                result.insertions.append(now)
                if let key = piece.key { result.insertedKeys.append(key) }
                now += 1
                continue
            }
            if piece.isModified {
                result.modifications.append(before)
                result.modificationsNew.append(now)
                if let key = piece.key { result.modifiedKeys.append(key) }
            }
            before += piece.count
            now += piece.count
        }
        return (result, lost)
    }

    private mutating func delete(
        _ changes: CollectionChangeSet, _ isSilent: Bool, _ lost: [ElementDetail]
    ) {
        var number = 0
        pieces = Self.changing(pieces, at: changes.deletions) { piece in
            defer { number += 1 }
            let detail = lost.indices.contains(number) ? lost[number] : nil
            // An element that was inserted and deleted in the meantime is not reported.
            if piece.origin == .reported { return nil }
            if isSilent {
                if piece.origin == .old, let detail { silentlyLost.append(detail) }
                return nil
            }
            piece.isDeleted = true
            if changes.deletedKeys.indices.contains(number) {
                piece.key = changes.deletedKeys[number]
            }
            piece.detail = detail ?? piece.detail
            return piece
        }
    }

    private mutating func insert(
        _ changes: CollectionChangeSet, _ isSilent: Bool, _ gained: [ElementDetail]
    ) {
        guard !changes.insertions.isEmpty else { return }
        var result: [Piece] = []
        // An insertion can split a run.
        result.reserveCapacity(pieces.count + 2 * changes.insertions.count)
        var number = 0
        var position = 0
        func insertDue() {
            while number < changes.insertions.count, changes.insertions[number] == position {
                var piece = Piece(count: 1, origin: isSilent ? .silent : .reported)
                if changes.insertedKeys.indices.contains(number) {
                    piece.key = changes.insertedKeys[number]
                }
                piece.detail = gained.indices.contains(number) ? gained[number] : nil
                result.append(piece)
                number += 1
                position += 1
            }
        }
        for var piece in pieces {
            insertDue()
            if piece.isDeleted {
                result.append(piece)
                continue
            }
            while number < changes.insertions.count,
                changes.insertions[number] - position < piece.count
            {
                var head = piece
                head.count = changes.insertions[number] - position
                piece.count -= head.count
                result.append(head)
                position += head.count
                insertDue()
            }
            result.append(piece)
            position += piece.count
        }
        assert(number == changes.insertions.count, "the sequence has all insertions")
        pieces = result
    }

    private mutating func modify(_ changes: CollectionChangeSet) {
        var number = 0
        pieces = Self.changing(pieces, at: changes.modificationsNew) { piece in
            piece.isModified = true
            if changes.modifiedKeys.indices.contains(number) {
                piece.key = changes.modifiedKeys[number]
            }
            number += 1
            return piece
        }
    }

    /// Returns the pieces after `body` has changed the elements at some positions, which ascend.
    ///
    /// Each of these elements becomes a separate piece. If `body` returns nil, the element is removed.
    private static func changing(
        _ pieces: [Piece], at positions: [Int], _ body: (inout Piece) -> Piece?
    ) -> [Piece] {
        guard !positions.isEmpty else { return pieces }
        var result: [Piece] = []
        result.reserveCapacity(pieces.count + 2 * positions.count)
        var next = 0
        var position = 0
        for var piece in pieces {
            while !piece.isDeleted, next < positions.count, positions[next] - position < piece.count
            {
                let offset = positions[next] - position
                if offset > 0 {
                    var head = piece
                    head.count = offset
                    result.append(head)
                }
                var single = piece
                single.count = 1
                if let changed = body(&single) { result.append(changed) }
                piece.count -= offset + 1
                position += offset + 1
                next += 1
            }
            if piece.count > 0 {
                result.append(piece)
                if !piece.isDeleted { position += piece.count }
            }
        }
        assert(next == positions.count, "the sequence has all positions")
        return result
    }
}
