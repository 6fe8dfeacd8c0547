import ColumnStorage

/// The result of edits of a sequence, by position, without the elements.
///
/// The sequence is kept as runs of old elements and of new ones, so the cost depends on the edits, not on the length.
struct EditedSequence {
    private struct Piece {
        /// The old position of the piece's first element; nil for new elements.
        var old: Int?
        var count: Int
        var isSet = false
        var isMoved = false
    }

    /// Old elements that kept their order.
    struct Kept {
        var old: Int
        var new: Int
        var count: Int
        /// Whether the element was replaced; the run then has one element.
        var isSet: Bool
    }

    private let oldCount: Int
    private var pieces: [Piece]
    private(set) var count: Int

    /// Applies edits to a sequence of `count` elements; nil if they do not fit this length.
    init?(count: Int, _ edits: CollectionEdits) {
        guard edits.isComplete else { return nil }
        oldCount = count
        self.count = count
        pieces = count == 0 ? [] : [Piece(old: 0, count: count)]
        for edit in edits.edits {
            guard apply(edit) else { return nil }
        }
        assert(
            pieces.reduce(0) { $0 + $1.count } == self.count, "the pieces have all elements")
    }

    private mutating func apply(_ edit: CollectionEdits.Edit) -> Bool {
        switch edit {
        case .insert(let at, let more):
            guard at >= 0, at <= count, more > 0, more <= Int.max - count else { return false }
            pieces.insert(Piece(old: nil, count: more), at: cut(at))
            count += more
        case .remove(let at, let less):
            guard at >= 0, less >= 0, at <= count, less <= count - at else { return false }
            let first = cut(at)
            pieces.removeSubrange(first..<cut(at + less))
            count -= less
        case .set(let at):
            guard at >= 0, at < count else { return false }
            let first = cut(at)
            _ = cut(at + 1)
            pieces[first].isSet = true
        case .move(let from, let to):
            guard from >= 0, to >= 0, from < count, to < count else { return false }
            let first = cut(from)
            _ = cut(from + 1)
            var piece = pieces.remove(at: first)
            piece.isMoved = true
            pieces.insert(piece, at: cut(to))
        }
        return true
    }

    /// Splits a piece so that a piece begins at a position, and returns the index of that piece.
    private mutating func cut(_ position: Int) -> Int {
        var rest = position
        for index in pieces.indices {
            if rest == 0 { return index }
            let piece = pieces[index]
            if rest < piece.count {
                var tail = piece
                tail.count -= rest
                tail.old = piece.old.map { $0 + rest }
                pieces[index].count = rest
                pieces.insert(tail, at: index + 1)
                return index + 1
            }
            rest -= piece.count
        }
        return pieces.count
    }
}

extension EditedSequence {
    /// Returns the rows that did not move; all others were deleted, inserted or both.
    ///
    /// If several choices keep equally many rows, the rows of explicit moves count as moved.
    func kept() -> [Kept] {
        var found: [Kept] = []
        var runs: [KeptSubsequence.Run] = []
        var position = 0
        for piece in pieces {
            if let old = piece.old {
                found.append(
                    Kept(old: old, new: position, count: piece.count, isSet: piece.isSet))
                runs.append(
                    KeptSubsequence.Run(old: old, length: piece.count, isTouched: piece.isMoved))
            }
            position += piece.count
        }
        return zip(found, KeptSubsequence.choose(runs)).filter(\.1).map(\.0)
    }

    /// Returns the changes of the sequence, which contain the positions of all elements that must be read.
    ///
    /// These are the new and the moved elements, and those that were replaced in place.
    func changes() -> CollectionChangeSet {
        var result = CollectionChangeSet()
        var old = 0
        var new = 0
        for run in kept() {
            result.deletions.append(contentsOf: old..<run.old)
            result.insertions.append(contentsOf: new..<run.new)
            if run.isSet {
                for offset in 0..<run.count {
                    result.modifications.append(run.old + offset)
                    result.modificationsNew.append(run.new + offset)
                }
            }
            old = run.old + run.count
            new = run.new + run.count
        }
        result.deletions.append(contentsOf: old..<oldCount)
        result.insertions.append(contentsOf: new..<count)
        assert(
            oldCount - result.deletions.count == count - result.insertions.count,
            "both sequences have the kept elements")
        return result
    }
}

/// Maps the new positions of a sequence to the old ones.
struct KeptPositions {
    private let runs: [EditedSequence.Kept]

    init(_ runs: [EditedSequence.Kept]) {
        assert(
            zip(runs, runs.dropFirst()).allSatisfy {
                $0.old + $0.count <= $1.old && $0.new + $0.count <= $1.new
            }, "the runs ascend in both sequences")
        self.runs = runs
    }

    /// Returns the old position of the element at a new position; nil if the element was inserted or moved.
    func old(ofNew position: Int) -> Int? {
        let run = runs.indices.partition { runs[$0].new + runs[$0].count <= position }
        guard run < runs.count, runs[run].new <= position else { return nil }
        return runs[run].old + (position - runs[run].new)
    }
}

/// Finds the rows that do not move between two sequences: a longest common subsequence.
///
/// Rows are given in runs, each of which stays or moves as a whole. The rows of runs that are not chosen are reported
/// as deleted and inserted. Among equally long choices, the one with the most untouched rows is preferred, so that the
/// rows that a commit modified appear to move.
enum KeptSubsequence {
    /// Rows that are adjacent in both sequences.
    struct Run {
        /// The run's unique position in the order of the old sequence.
        var old: Int
        /// The number of rows in the run.
        var length: Int
        /// Whether the commit modified the rows.
        var isTouched: Bool
    }

    /// Returns for each run, in the order of the new sequence, whether it stays.
    ///
    /// Takes O(n log n) for n runs, and linear time if nothing moved.
    static func choose(_ runs: [Run]) -> [Bool] {
        guard zip(runs, runs.dropFirst()).contains(where: { $0.old > $1.old }) else {
            return [Bool](repeating: true, count: runs.count)
        }
        // Ranks among the old positions: best(r) is the best score of a chain that ends at or
        // before rank r, kept in a tree of prefix maxima.
        let byOld = runs.indices.sorted { runs[$0].old < runs[$1].old }
        var rank = [Int](repeating: 0, count: runs.count)
        for (position, index) in byOld.enumerated() { rank[index] = position + 1 }

        var best = [(score: Int, run: Int)](repeating: (0, -1), count: runs.count + 1)
        var previous = [Int](repeating: -1, count: runs.count)
        var winner = (score: 0, run: -1)
        for index in runs.indices {
            var chain = (score: 0, run: -1)
            var node = rank[index] - 1
            while node > 0 {
                if best[node].score > chain.score { chain = best[node] }
                node -= node & -node
            }
            previous[index] = chain.run
            let run = runs[index]
            // The length decides and untouched rows break ties; one integer has both.
            let score = chain.score + run.length << 32 + (run.isTouched ? 0 : run.length)
            if score > winner.score { winner = (score, index) }
            node = rank[index]
            while node < best.count {
                if score > best[node].score { best[node] = (score, index) }
                node += node & -node
            }
        }
        var isKept = [Bool](repeating: false, count: runs.count)
        var index = winner.run
        while index >= 0 {
            isKept[index] = true
            index = previous[index]
        }
        assert(keepsOrder(runs, isKept), "the kept runs have the same order in both sequences")
        return isKept
    }

    private static func keepsOrder(_ runs: [Run], _ isKept: [Bool]) -> Bool {
        let kept = zip(runs, isKept).filter(\.1).map { $0.0.old }
        return zip(kept, kept.dropFirst()).allSatisfy { $0 < $1 }
    }
}
