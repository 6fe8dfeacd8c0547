extension MixedReader {
    /// Moves to an element of the list whose tag was read.
    mutating func enter(_ index: Int) -> Bool {
        guard let count = head(), (0..<count).contains(index) else { return false }
        for _ in 0..<index where !skip() { return false }
        return true
    }

    /// Moves to the value of an entry of the map whose tag was read.
    mutating func enter(_ wanted: TextKey) -> Bool {
        guard let count = head() else { return false }
        for _ in 0..<count {
            guard let key = key() else { return false }
            if wanted == TextKey(key) { return true }
            guard skip() else { return false }
        }
        return false
    }
}

extension MixedReader {
    /// Moves to the last element of the list whose tag was read.
    mutating func enterLast() -> Bool {
        guard let count = head(), count > 0 else { return false }
        for _ in 1..<count where !skip() { return false }
        return true
    }

    /// Returns the number of elements of a list or map, or of bytes of a string or data; nil for other values.
    func count() -> Int? {
        var reader = self
        switch reader.tag() {
        case .list, .map: return reader.head()
        case .string, .data: return reader.sized()?.count
        default: return nil
        }
    }
}
