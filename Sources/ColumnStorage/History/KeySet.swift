/// A set of object keys, stored as sorted, disjoint, non-adjacent runs.
///
/// Change sets consist of key sets: a commit mostly changes a few single keys or a few long runs, and both take little
/// space. Keys are the raw values of ``ObjectKey``, in `0 ..< Int64.max`.
///
/// Every run stores the number of keys before it, so ``count`` is one addition; ``contains(_:)`` takes
/// logarithmic time in the number of runs. Adding a greatest key takes constant time;
/// adding one in the middle moves the runs after it, so a caller with unordered keys should use ``init(unordered:)``,
/// which sorts once.
package struct KeySet: Sendable, Hashable {
    @usableFromInline
    struct Run: Sendable, Hashable {
        @usableFromInline var first: Int64
        @usableFromInline var last: Int64
        @usableFromInline var before: Int

        @inlinable
        init(first: Int64, last: Int64, before: Int) {
            self.first = first
            self.last = last
            self.before = before
        }

        @inlinable var through: Int { before &+ Int(last &- first) &+ 1 }
    }

    @usableFromInline var runs: [Run]

    /// Creates an empty set without an allocation.
    @inlinable
    package init() {
        runs = []
    }

    /// Creates a set of one key.
    @inlinable
    package init(_ key: ObjectKey) {
        runs = [Run(first: key.rawValue, last: key.rawValue, before: 0)]
    }

    /// Creates a set of all keys in a range of raw values.
    package init(rawRange: ClosedRange<Int64>) {
        runs = [Run(first: rawRange.lowerBound, last: rawRange.upperBound, before: 0)]
    }

    /// Creates a set of keys in any order, possibly repeated, and sorts them once.
    package init(unordered keys: [ObjectKey]) {
        if keys.count == 1 {
            self.init(keys[0])
            return
        }
        self.init()
        if keys.isEmpty { return }
        for raw in keys.map(\.rawValue).sorted() { append(first: raw, last: raw) }
        assert(count <= keys.count, "a repeated key is counted once")
    }

    /// Whether the set has no keys.
    @inlinable package var isEmpty: Bool { runs.isEmpty }

    /// The number of keys.
    @inlinable package var count: Int { runs.last?.through ?? 0 }

    /// The smallest key.
    package var first: ObjectKey? { runs.first.map { ObjectKey(rawValue: $0.first) } }

    /// The largest key.
    package var last: ObjectKey? { runs.last.map { ObjectKey(rawValue: $0.last) } }

    /// The runs as ranges of raw keys, ascending.
    package var ranges: [ClosedRange<Int64>] { runs.map { $0.first...$0.last } }

    /// Returns whether a key is in the set.
    @inlinable
    package func contains(_ key: ObjectKey) -> Bool {
        let index = runIndex(endingAtOrAfter: key.rawValue)
        return index < runs.count && runs[index].first <= key.rawValue
    }

    /// Adds a key.
    ///
    /// Takes constant time if the key is greater than all others.
    @inlinable
    package mutating func insert(_ key: ObjectKey) {
        if let last = runs.last, key.rawValue <= last.last {
            insertRange(first: key.rawValue, last: key.rawValue)
        } else {
            append(first: key.rawValue, last: key.rawValue)
        }
    }

    /// Adds all keys of a range of raw values.
    package mutating func insert(rawRange: ClosedRange<Int64>) {
        insertRange(first: rawRange.lowerBound, last: rawRange.upperBound)
    }

    /// Adds the keys of one cluster: bit `i` of `bits` represents the key `base + i`.
    ///
    /// Commits use it because they have their changes as bitmaps. Takes constant time for each run if the clusters
    /// ascend.
    package mutating func insert(base: Int64, bits: SIMD8<UInt64>) {
        for word in 0..<8 {
            var rest = bits[word]
            var offset = base + Int64(word * 64)
            while rest != 0 {
                let zeros = rest.trailingZeroBitCount
                offset += Int64(zeros)
                rest >>= UInt64(zeros)
                let ones = (~rest).trailingZeroBitCount
                insertRange(first: offset, last: offset + Int64(ones) - 1)
                offset += Int64(ones)
                // If all 64 bits are ones, no bits remain.
                rest = ones == 64 ? 0 : rest >> UInt64(ones)
            }
        }
    }

    /// Adds a run that begins after the first key of the last run.
    @inlinable
    mutating func append(first: Int64, last: Int64) {
        assert(first <= last, "a run has a key")
        guard let end = runs.last else {
            runs.append(Run(first: first, last: last, before: 0))
            return
        }
        assert(end.first <= first, "runs are appended in their order")
        if first <= end.last &+ 1 {
            if last > end.last { runs[runs.count &- 1].last = last }
        } else {
            runs.append(Run(first: first, last: last, before: end.through))
        }
    }

    @usableFromInline
    mutating func insertRange(first: Int64, last: Int64) {
        if let end = runs.last, first < end.first {
            let low = runIndex(endingAtOrAfter: first - 1)
            if runs[low].first <= first, last <= runs[low].last { return }
            var high = low
            while high < runs.count, runs[high].first <= last + 1 { high += 1 }
            if low == high {
                runs.insert(Run(first: first, last: last, before: 0), at: low)
            } else {
                let joined = Run(
                    first: Swift.min(first, runs[low].first),
                    last: Swift.max(last, runs[high - 1].last),
                    before: 0)
                if high == low + 1 {
                    runs[low] = joined
                } else {
                    runs.replaceSubrange(low..<high, with: CollectionOfOne(joined))
                }
            }
            recount(from: low)
            assert(isSeparate(low), "runs are neither adjacent nor do they overlap")
        } else {
            append(first: first, last: last)
        }
    }

    /// Returns the first run whose last key is at least `raw`, or the number of runs.
    @inlinable
    func runIndex(endingAtOrAfter raw: Int64, from start: Int = 0) -> Int {
        var low = start
        var high = runs.count
        while low < high {
            let middle = (low &+ high) / 2
            if runs[middle].last < raw { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Returns whether there are keys between a run and each of its neighbors.
    private func isSeparate(_ index: Int) -> Bool {
        (index == 0 || runs[index - 1].last < runs[index].first - 1)
            && (index + 1 == runs.count || runs[index].last < runs[index + 1].first - 1)
    }

    private mutating func recount(from index: Int) {
        var before = index == 0 ? 0 : runs[index - 1].through
        var index = index
        while index < runs.count {
            runs[index].before = before
            before = runs[index].through
            index += 1
        }
    }
}

extension KeySet: Sequence {
    /// An iterator over the keys in ascending order.
    package struct Iterator: IteratorProtocol {
        @usableFromInline let runs: [Run]
        @usableFromInline var index = 0
        @usableFromInline var upcoming: Int64 = 0

        @inlinable
        init(_ runs: [Run]) {
            self.runs = runs
            upcoming = runs.first?.first ?? 0
        }

        /// Returns the next key; nil after the last one.
        @inlinable
        package mutating func next() -> ObjectKey? {
            guard index < runs.count else { return nil }
            let raw = upcoming
            if raw == runs[index].last {
                index &+= 1
                if index < runs.count { upcoming = runs[index].first }
            } else {
                upcoming = raw &+ 1
            }
            return ObjectKey(rawValue: raw)
        }
    }

    /// Returns an iterator over the keys in ascending order.
    @inlinable
    package func makeIterator() -> Iterator { Iterator(runs) }

    /// The number of keys, so that a conversion to an array allocates once.
    @inlinable package var underestimatedCount: Int { count }
}

extension KeySet: ExpressibleByArrayLiteral {
    /// Creates a set of the given keys.
    package init(arrayLiteral elements: ObjectKey...) {
        self.init(unordered: elements)
    }
}

/// Union, difference and intersection in one pass over the runs of both sets or, if one set is much smaller, with a
/// binary search in the larger set for each run of the smaller one.
extension KeySet {
    /// Adds all keys of another set.
    package mutating func formUnion(_ other: KeySet) {
        if other.runs.isEmpty { return }
        if runs.isEmpty {
            self = other
            return
        }
        if other.runs.count < 4 {
            for run in other.runs { insertRange(first: run.first, last: run.last) }
            return
        }
        self = union(other)
    }

    /// Returns the keys that are in this set, the other, or both.
    package func union(_ other: KeySet) -> KeySet {
        if runs.isEmpty { return other }
        if other.runs.isEmpty { return self }
        var result = KeySet()
        result.runs.reserveCapacity(runs.count + other.runs.count)
        var left = 0
        var right = 0
        while left < runs.count || right < other.runs.count {
            let takeLeft =
                right == other.runs.count
                || (left < runs.count && runs[left].first <= other.runs[right].first)
            let run = takeLeft ? runs[left] : other.runs[right]
            if takeLeft { left += 1 } else { right += 1 }
            result.append(first: run.first, last: run.last)
        }
        assert(result.count >= Swift.max(count, other.count), "a union has all keys")
        return result
    }

    /// Removes all keys of another set.
    package mutating func subtract(_ other: KeySet) {
        if runs.isEmpty || other.runs.isEmpty || !intersects(other) { return }
        self = subtracting(other)
    }

    /// Returns the keys of this set that the other does not have.
    package func subtracting(_ other: KeySet) -> KeySet {
        if runs.isEmpty || other.runs.isEmpty { return self }
        var result = KeySet()
        var right = 0
        for run in runs {
            var first = run.first
            right = other.seek(run.first, from: right)
            while right < other.runs.count, other.runs[right].first <= run.last {
                let cut = other.runs[right]
                if cut.first > first { result.append(first: first, last: cut.first - 1) }
                first = cut.last + 1
                if cut.last >= run.last { break }
                right += 1
            }
            if first <= run.last { result.append(first: first, last: run.last) }
        }
        assert(result.count <= count, "a difference has no other keys")
        return result
    }

    /// Returns the keys that are in both sets.
    package func intersection(_ other: KeySet) -> KeySet {
        if runs.count > other.runs.count { return other.intersection(self) }
        var result = KeySet()
        var right = 0
        for run in runs {
            right = other.seek(run.first, from: right)
            while right < other.runs.count, other.runs[right].first <= run.last {
                let common = other.runs[right]
                result.append(
                    first: Swift.max(run.first, common.first),
                    last: Swift.min(run.last, common.last))
                if common.last >= run.last { break }
                right += 1
            }
            if right == other.runs.count { break }
        }
        assert(
            result.count <= Swift.min(count, other.count), "an intersection has no other keys")
        return result
    }

    /// Keeps only the keys that the other set has too.
    package mutating func formIntersection(_ other: KeySet) {
        self = intersection(other)
    }

    /// Returns whether the sets have a key in common, without building a set.
    package func intersects(_ other: KeySet) -> Bool {
        if runs.count > other.runs.count { return other.intersects(self) }
        var right = 0
        for run in runs {
            right = other.seek(run.first, from: right)
            if right == other.runs.count { return false }
            if other.runs[right].first <= run.last { return true }
        }
        return false
    }

    /// Returns the first run at or after `start` that ends at or after `raw`.
    ///
    /// Exponential search makes short steps cheap and long ones logarithmic.
    private func seek(_ raw: Int64, from start: Int) -> Int {
        var step = 1
        var low = start
        while low + step < runs.count, runs[low + step].last < raw {
            low += step
            step *= 2
        }
        if low < runs.count, runs[low].last >= raw { return low }
        var high = Swift.min(low + step, runs.count)
        low = Swift.min(low + 1, high)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].last < raw { low = middle + 1 } else { high = middle }
        }
        assert(
            (low == runs.count || runs[low].last >= raw)
                && (low == start || runs[low - 1].last < raw),
            "the run is the first that ends at or after the key")
        return low
    }
}

/// The stored form: `number of runs * 2 + (1 if a run is longer than one key)`, then for every run its distance from
/// the previous one and, if any run is longer than one key, its length; all as base-128 numbers.
///
/// Scattered keys take a byte or two each.
extension KeySet {
    func encode(into writer: inout ByteWriter) {
        let allSingle = count == runs.count
        writer.number(UInt64(runs.count) << 1 | (allSingle ? 0 : 1))
        var expected: Int64 = 0
        for run in runs {
            writer.number(UInt64(run.first - expected))
            if !allSingle { writer.number(UInt64(run.last - run.first)) }
            // The key right after a run cannot begin the next one.
            expected = run.last + 2
        }
    }

    init(from reader: inout ByteReader) throws(DamagedEncoding) {
        self.init()
        let header = try reader.number()
        let allSingle = header & 1 == 0
        guard header >> 1 <= UInt64(reader.remaining) else { throw reader.damaged }
        let count = Int(header >> 1)
        runs.reserveCapacity(count)
        // The largest key that leaves space for the distance to the next run.
        let bound = UInt64(Int64.max) - 2
        var expected: UInt64 = 0
        var total = 0
        for _ in 0..<count {
            let distance = try reader.number()
            guard distance <= bound, expected + distance <= bound else { throw reader.damaged }
            let first = expected + distance
            var length: UInt64 = 0
            if !allSingle {
                length = try reader.number()
                guard length <= bound, first + length <= bound else { throw reader.damaged }
            }
            runs.append(Run(first: Int64(first), last: Int64(first + length), before: total))
            total += Int(length) + 1
            expected = first + length + 2
        }
    }
}
