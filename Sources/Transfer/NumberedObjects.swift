import ObjectStore

/// Maps the numbers of objects in a file to object keys, for a class without a primary key.
///
/// Most files have their rows in the order of the numbers, and new objects get consecutive keys. Such runs are stored
/// as ranges, so memory does not grow with the number of objects.
struct NumberedObjects {
    private struct Run {
        let number: Int64
        let key: Int64
        var count: Int64 = 1

        /// Returns the key for a number that is not less than the first number.
        func key(of wanted: Int64) -> ObjectKey? {
            // The difference of two numbers in a file can overflow.
            let (offset, overflow) = wanted.subtractingReportingOverflow(number)
            return !overflow && offset < count ? ObjectKey(rawValue: key + offset) : nil
        }
    }

    /// The runs in ascending order of numbers.
    private var runs: [Run] = []
    /// The objects that are out of order, and the objects that can be removed.
    private var others: [Int64: ObjectKey] = [:]

    /// The object with a number.
    subscript(number: Int64) -> ObjectKey? {
        if !others.isEmpty, let key = others[number] { return key }
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? runs[low - 1].key(of: number) : nil
    }

    /// Adds an object.
    ///
    /// If a number occurs twice, the newer object replaces the older one.
    mutating func add(_ number: Int64, _ key: ObjectKey) {
        if !others.isEmpty, others[number] != nil {
            others[number] = key
            return
        }
        guard let last = runs.last else {
            runs.append(Run(number: number, key: key.rawValue))
            return
        }
        if number > last.number {
            let offset = number.subtractingReportingOverflow(last.number)
            if !offset.overflow, offset.partialValue == last.count,
                key.rawValue == last.key + last.count
            {
                runs[runs.count - 1].count += 1
                return
            }
            if offset.overflow || offset.partialValue >= last.count {
                runs.append(Run(number: number, key: key.rawValue))
                return
            }
        }
        others[number] = key
    }

    /// Adds an object that can be removed again.
    mutating func addForNow(_ number: Int64, _ key: ObjectKey) { others[number] = key }

    /// Calls `body` with the objects that were created out of order or before their rows, and their numbers.
    func forEachOther(_ body: (_ number: Int64, _ key: ObjectKey) -> Void) {
        for (number, key) in others { body(number, key) }
    }

    /// Removes an object that was added temporarily.
    mutating func remove(_ number: Int64) { others[number] = nil }
}
