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
        return isKept
    }
}
