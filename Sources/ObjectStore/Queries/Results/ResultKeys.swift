import ColumnStorage

/// The keys of a query's objects at one version, in order.
///
/// The results of a class in its own order take one bit per row, so a million results are counted, indexed and searched
/// without a list of keys. The keys are a value, which never changes with the store.
package struct ResultKeys: Sendable {
    private enum Storage: Sendable {
        /// One bitmap per cluster, and the number of keys before each cluster.
        case bitmap([ClusterBits], starts: [Int])
        case list([ObjectKey])
    }

    private let storage: Storage
    /// The number of keys.
    package let count: Int

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

    /// Returns the key at a position below ``count``.
    ///
    /// Takes at most logarithmic time.
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
            // Empty clusters start at the same position as the next one; the search ends at the last of these.
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

    /// Returns the keys at some positions, which must exist, as a list.
    subscript(positions: Range<Int>) -> ResultKeys {
        guard case .list(let keys) = storage else { return ResultKeys(positions.map { self[$0] }) }
        return ResultKeys(Array(keys[positions]))
    }

    /// Returns the first position of a key, or nil.
    ///
    /// Takes constant time for an unsorted class, otherwise linear time.
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

    /// Returns whether a key is included.
    package func contains(_ key: ObjectKey) -> Bool {
        firstIndex(of: key) != nil
    }

    /// Computes something for the keys of consecutive clusters of a table, as ``StoreView/scan(_:isEven:_:)`` does; returns
    /// nil if the keys are a list.
    ///
    /// The function for a thread receives the clusters that have keys.
    func scan<Part>(
        _ table: TableID, in view: StoreView, isEven: Bool = false,
        _ prepare: (TableReader, StoreView) throws -> (KeyClusters) throws -> Part
    ) throws -> [Part]? {
        guard case .bitmap(let clusters, _) = storage else { return nil }
        return try view.scan(view.table(table), isEven: isEven) { view in
            let function = try prepare(view.table(table), view)
            return { try function(KeyClusters(all: clusters, range: $0)) }
        }
    }

    /// Returns the last clusters that together have at least `count` keys; nil if the keys are a list.
    func lastClusters(with count: Int) -> KeyClusters? {
        guard case .bitmap(let clusters, let starts) = storage else { return nil }
        let first = starts.lastIndex { self.count - $0 >= count } ?? 0
        return KeyClusters(all: clusters, range: first..<clusters.count)
    }

    /// Calls `body` with every cluster that has keys, and its bits; returns false if the keys are a list.
    func forEachCluster(_ body: (Int, ClusterBits) throws -> Void) rethrows -> Bool {
        guard case .bitmap(let clusters, _) = storage else { return false }
        for (cluster, bits) in clusters.enumerated() where !bits.isEmpty { try body(cluster, bits) }
        return true
    }

    /// All keys as an array.
    ///
    /// The array takes eight bytes for each key.
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

    /// Returns the keys after a change of one row, which `precedes` compares with the others.
    ///
    /// `isMember` is whether the row is among the keys after the change; `isNew` is whether it cannot have been before.
    func replacing(
        _ row: ObjectKey, isMember: Bool, isNew: Bool, _ precedes: (ObjectKey) throws -> Bool
    ) rethrows -> ResultKeys {
        switch storage {
        case .bitmap(var clusters, _):
            let (cluster, offset) = Int(row.rawValue).quotientAndRemainder(
                dividingBy: Cluster.rows)
            if isMember {
                while clusters.count <= cluster { clusters.append(.zero) }
                clusters[cluster].insert(offset)
            } else if cluster < clusters.count {
                clusters[cluster].remove(offset)
            }
            return ResultKeys(clusters: clusters)
        case .list(var keys):
            if !isNew, let old = keys.firstIndex(of: row) { keys.remove(at: old) }
            guard isMember else { return ResultKeys(keys) }
            var (low, high) = (0, keys.count)
            while low < high {
                let middle = (low + high) / 2
                if try precedes(keys[middle]) { low = middle + 1 } else { high = middle }
            }
            keys.insert(row, at: low)
            return ResultKeys(keys)
        }
    }

    /// Returns the first `limit` keys, or all if there are fewer.
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
                    assert(row >= 0, "a cluster has the keys that are removed from it")
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

/// The keys in some consecutive clusters: each cluster that has keys, with its bits.
struct KeyClusters: Sequence, IteratorProtocol {
    private let all: [ClusterBits]
    private var range: Range<Int>

    init(all: [ClusterBits], range: Range<Int>) {
        self.all = all
        self.range = range.clamped(to: 0..<all.count)
    }

    mutating func next() -> (cluster: Int, bits: ClusterBits)? {
        while let cluster = range.popFirst() {
            if !all[cluster].isEmpty { return (cluster, all[cluster]) }
        }
        return nil
    }
}

extension ResultKeys: Sequence {
    /// An iterator over the keys in order.
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

        /// Returns the next key; nil at the end.
        package mutating func next() -> ObjectKey? {
            switch keys.storage {
            case .list(let list):
                guard position < list.count else { return nil }
                position += 1
                return list[position - 1]
            case .bitmap(let clusters, _):
                while bits == 0 {
                    guard cluster < clusters.count else { return nil }
                    advance(in: clusters)
                }
                let row = cluster * Cluster.rows + word * 64 + bits.trailingZeroBitCount
                bits &= bits - 1
                return ObjectKey(rawValue: Int64(row))
            }
        }

        /// Replaces the content of an array by the next keys, in order; leaves it empty at the end.
        ///
        /// A loop over the array costs less for each key than ``next()``.
        package mutating func fill(_ buffer: inout [ObjectKey]) {
            buffer.removeAll(keepingCapacity: true)
            switch keys.storage {
            case .list(let list):
                // A list is shared, not copied.
                if position == 0 {
                    buffer = list
                } else {
                    buffer += list[position...]
                }
                position = list.count
            case .bitmap(let clusters, _):
                while buffer.count < 64, cluster < clusters.count {
                    let first = cluster * Cluster.rows + word * 64
                    while bits != 0 {
                        buffer.append(
                            ObjectKey(rawValue: Int64(first + bits.trailingZeroBitCount)))
                        bits &= bits - 1
                    }
                    advance(in: clusters)
                }
            }
        }

        private mutating func advance(in clusters: [ClusterBits]) {
            word += 1
            if word == Cluster.words {
                word = 0
                cluster += 1
            }
            if cluster < clusters.count { bits = clusters[cluster][word] }
        }
    }

    /// Returns an iterator over the keys in order.
    package func makeIterator() -> Iterator { Iterator(self) }

    /// The number of keys.
    package var underestimatedCount: Int { count }
}
