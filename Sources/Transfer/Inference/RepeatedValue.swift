/// Detects whether the values of a property are unique, so that the property can be the primary key.
///
/// Takes no memory for consecutive integers, and otherwise a few bytes for each value, up to a limit; values beyond the
/// limit are not compared.
struct RepeatedValue {
    /// Whether a value has occurred twice.
    private(set) var isRepeated = false
    private var run: ClosedRange<Int64>?
    /// The hashes of values outside of the run.
    private var others: Set<Int> = []
    private static let limit = 1 << 20

    /// Adds an integer; returns whether it is the first value that occurs again.
    mutating func add(_ number: Int64) -> Bool {
        guard !isRepeated else { return false }
        let run = run ?? number...number
        if self.run == nil {
            self.run = run
        } else if run.contains(number) {
            isRepeated = true
        } else if run.upperBound < .max, number == run.upperBound + 1 {
            self.run = run.lowerBound...number
            isRepeated = others.contains(number.hashValue)
        } else {
            add(hash: number.hashValue)
        }
        return isRepeated
    }

    /// Adds a text; returns whether it is the first value that occurs again.
    mutating func add(_ text: String) -> Bool {
        guard !isRepeated else { return false }
        add(hash: text.hashValue)
        return isRepeated
    }

    private mutating func add(hash: Int) {
        if others.count < Self.limit { isRepeated = !others.insert(hash).inserted }
    }
}
