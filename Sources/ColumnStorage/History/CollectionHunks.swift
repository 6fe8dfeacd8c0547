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
            close(at: start)
            hunk.kept += stretch.count
            seen = start + stretch.count
        }
        close(at: count)
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
