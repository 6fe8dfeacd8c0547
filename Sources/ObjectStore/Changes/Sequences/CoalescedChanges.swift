import ColumnStorage

/// The old state of an element of an observed sequence, if no known version has it.
enum ElementDetail {
    /// A plain value, or what a map holds under a key.
    case value(Value, mapKey: String)
    /// The section that a row belongs to.
    case section(Scalar)
}

/// The combined changes of several commits to a sequence, reported as if the silent commits had come first.
///
/// A caller that writes silently knows what the write does to the sequence. So deletions and modifications are indexes
/// in the old sequence with the silent changes applied, and insertions are indexes in the new sequence.
///
/// The sequence is kept as runs of elements that nothing is known of, and of single ones that were
/// touched; a commit costs what all commits since the beginning have touched.
struct CoalescedChanges {
    private enum Origin { case old, silent, loud }

    private struct Piece {
        var count: Int
        var origin = Origin.old
        /// Whether it was deleted, not silently.
        var isGone = false
        var isModified = false
        var key: ObjectKey?
        var detail: ElementDetail?
    }

    // Longer than any sequence: how long it is does not matter.
    private var pieces = [Piece(count: Int.max / 4)]
    /// The elements that silent commits have removed.
    private(set) var silentlyLost: [ElementDetail] = []
    /// Whether there was a silent change.
    private(set) var hasSilent = false

    /// Adds what a commit did; `lost` and `gained` say more of deletions and insertions, if anything.
    mutating func add(
        _ changes: CollectionChangeSet, isSilent: Bool, lost: [ElementDetail] = [],
        gained: [ElementDetail] = []
    ) {
        if changes.isEmpty { return }
        if isSilent { hasSilent = true }
        delete(changes, isSilent, lost)
        insert(changes, isSilent, gained)
        if !isSilent { modify(changes) }
    }

    /// The elements that silent commits have added, if they are visible to the others at all.
    var silentlyGained: [ElementDetail] {
        pieces.filter { $0.origin == .silent }.compactMap(\.detail)
    }

    /// The changes that are not silent, with what is known of the elements that are gone.
    func told() -> (changes: CollectionChangeSet, lost: [ElementDetail]) {
        var result = CollectionChangeSet()
        var lost: [ElementDetail] = []
        var before = 0
        var now = 0
        for piece in pieces {
            if piece.isGone {
                result.deletions.append(before)
                if let key = piece.key { result.deletedKeys.append(key) }
                if let detail = piece.detail { lost.append(detail) }
                before += 1
                continue
            }
            if piece.origin == .loud {
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
            // What came and went meanwhile was never there.
            if piece.origin == .loud { return nil }
            if isSilent {
                if piece.origin == .old, let detail { silentlyLost.append(detail) }
                return nil
            }
            piece.isGone = true
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
        var number = 0
        var position = 0
        func insertDue() {
            while number < changes.insertions.count, changes.insertions[number] == position {
                var piece = Piece(count: 1, origin: isSilent ? .silent : .loud)
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
            if piece.isGone {
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

    /// The pieces with the elements at some ascending positions changed, each on its own; nil takes one
    /// out.
    private static func changing(
        _ pieces: [Piece], at positions: [Int], _ body: (inout Piece) -> Piece?
    ) -> [Piece] {
        guard !positions.isEmpty else { return pieces }
        var result: [Piece] = []
        var next = 0
        var position = 0
        for var piece in pieces {
            while !piece.isGone, next < positions.count, positions[next] - position < piece.count {
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
                if !piece.isGone { position += piece.count }
            }
        }
        return result
    }
}
