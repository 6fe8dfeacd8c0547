import ColumnStorage

/// The keys of a query's objects at one version, in order.
///
/// What a class gives in its own order is kept as one bit per row, so that a million results are
/// counted, indexed and tested without a list of keys. A value: it never changes with the store.
package struct ResultKeys: Sendable {
    private enum Storage: Sendable {
        /// One bitmap per cluster, and the number of keys before each cluster.
        case bitmap([ClusterBits], starts: [Int])
        case list([ObjectKey])
    }

    private let storage: Storage
    /// How many keys there are.
    package let count: Int

    /// The bytes that the keys take.
    package var memory: Int {
        switch storage {
        case .bitmap(let clusters, let starts):
            clusters.count * MemoryLayout<ClusterBits>.stride + starts.count * 8
        case .list(let keys): keys.count * MemoryLayout<ObjectKey>.stride
        }
    }

    init(_ keys: [ObjectKey]) {
        storage = .list(keys)
        count = keys.count
    }

    init(clusters: [ClusterBits]) {
        var starts: [Int] = []
        starts.reserveCapacity(clusters.count)
        var count = 0
        for bits in clusters {
            starts.append(count)
            count += bits.rowCount
        }
        storage = .bitmap(clusters, starts: starts)
        self.count = count
    }

    /// Whether the keys ascend, as those of an unsorted class do.
    var isBitmap: Bool {
        if case .bitmap = storage { true } else { false }
    }

    /// The key at a position below ``count``.
    ///
    /// Logarithmic at worst.
    package subscript(position: Int) -> ObjectKey {
        switch storage {
        case .list(let keys): return keys[position]
        case .bitmap(let clusters, let starts):
            precondition(position >= 0 && position < count, "position outside the results")
            var low = 0
            var high = starts.count
            while high - low > 1 {
                let middle = (low + high) / 2
                if starts[middle] <= position { low = middle } else { high = middle }
            }
            // Empty clusters share their start with the next one; the search ends at the last.
            var rest = position - starts[low]
            for word in 0..<Cluster.words {
                var bits = clusters[low][word]
                let size = bits.nonzeroBitCount
                if rest >= size {
                    rest -= size
                    continue
                }
                while rest > 0 {
                    bits &= bits - 1
                    rest -= 1
                }
                return ObjectKey(
                    rawValue: Int64(low * Cluster.rows + word * 64 + bits.trailingZeroBitCount))
            }
            preconditionFailure("a cluster has fewer rows than were counted")
        }
    }

    /// The first position of a key, or nil.
    ///
    /// Constant time for an unsorted class, linear otherwise.
    package func firstIndex(of key: ObjectKey) -> Int? {
        switch storage {
        case .list(let keys): return keys.firstIndex(of: key)
        case .bitmap(let clusters, let starts):
            let (cluster, row) = Int(key.rawValue).quotientAndRemainder(dividingBy: Cluster.rows)
            guard key.rawValue >= 0, cluster < clusters.count, clusters[cluster].contains(row)
            else { return nil }
            var rank = starts[cluster]
            for word in 0..<(row / 64) { rank += clusters[cluster][word].nonzeroBitCount }
            let below = clusters[cluster][row / 64] & ((1 << UInt64(row % 64)) - 1)
            return rank + below.nonzeroBitCount
        }
    }

    /// Whether a key is among them.
    package func contains(_ key: ObjectKey) -> Bool {
        firstIndex(of: key) != nil
    }

    /// Calls `body` with every cluster that has keys and its bits; false if the keys are a list.
    func forEachCluster(_ body: (Int, ClusterBits) -> Void) -> Bool {
        guard case .bitmap(let clusters, _) = storage else { return false }
        for (cluster, bits) in clusters.enumerated() where !bits.isEmpty { body(cluster, bits) }
        return true
    }

    /// All keys as an array.
    ///
    /// Eight bytes for each.
    package var array: [ObjectKey] {
        switch storage {
        case .list(let keys): return keys
        case .bitmap(let clusters, _):
            var keys: [ObjectKey] = []
            keys.reserveCapacity(count)
            for (cluster, bits) in clusters.enumerated() where !bits.isEmpty {
                let first = Int64(cluster * Cluster.rows)
                bits.forEachRow { keys.append(ObjectKey(rawValue: first + Int64($0))) }
            }
            return keys
        }
    }

    /// The first keys, as many as there are.
    func prefix(_ limit: Int) -> ResultKeys {
        guard limit < count else { return self }
        switch storage {
        case .list(let keys): return ResultKeys(Array(keys.prefix(limit)))
        case .bitmap(let clusters, let starts):
            var kept: [ClusterBits] = []
            for (cluster, bits) in clusters.enumerated() {
                if starts[cluster] >= limit { break }
                var bits = bits
                var extra = starts[cluster] + bits.rowCount - limit
                var row = Cluster.rows - 1
                while extra > 0 {
                    if bits.contains(row) {
                        bits.remove(row)
                        extra -= 1
                    }
                    row -= 1
                }
                kept.append(bits)
            }
            return ResultKeys(clusters: kept)
        }
    }
}

extension ResultKeys: Sequence {
    /// Iterates over the keys in order.
    package struct Iterator: IteratorProtocol {
        private let keys: ResultKeys
        private var position = 0
        private var cluster = 0
        private var word = 0
        private var bits: UInt64 = 0

        fileprivate init(_ keys: ResultKeys) {
            self.keys = keys
            if case .bitmap(let clusters, _) = keys.storage, let first = clusters.first {
                bits = first[0]
            }
        }

        /// The next key, nil at the end.
        package mutating func next() -> ObjectKey? {
            switch keys.storage {
            case .list(let list):
                guard position < list.count else { return nil }
                position += 1
                return list[position - 1]
            case .bitmap(let clusters, _):
                while bits == 0 {
                    word += 1
                    if word == Cluster.words {
                        word = 0
                        cluster += 1
                    }
                    guard cluster < clusters.count else { return nil }
                    bits = clusters[cluster][word]
                }
                let row = cluster * Cluster.rows + word * 64 + bits.trailingZeroBitCount
                bits &= bits - 1
                return ObjectKey(rawValue: Int64(row))
            }
        }
    }

    /// Iterates over the keys in order.
    package func makeIterator() -> Iterator { Iterator(self) }

    /// How many keys there are.
    package var underestimatedCount: Int { count }
}
