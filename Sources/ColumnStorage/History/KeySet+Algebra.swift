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
        return low
    }
}
