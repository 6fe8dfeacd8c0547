/// Inserts a label with the source before each printed line.
///
/// Each thread has its own label, because observers run on one thread while workers print on theirs.
struct LineLabels {
    private var labels: [UInt: [UInt8]] = [:]
    /// The label of the unfinished line.
    private var unfinished: [UInt8] = []

    /// Sets the label of the calling thread's output from now on; empty for none.
    mutating func set(_ label: [UInt8]) {
        labels[currentThread()] = label.isEmpty ? nil : label
    }

    /// Returns the bytes with the calling thread's label before each line.
    ///
    /// `endsInLine` is whether the previous output ended its line. Output that does not continue that line starts a new
    /// one.
    mutating func label(_ bytes: [UInt8], endsInLine: Bool) -> [UInt8] {
        let label = labels.isEmpty ? [] : labels[currentThread()] ?? []
        let continues = !endsInLine && unfinished == label
        let newline = UInt8(ascii: "\n")
        unfinished = label
        if label.isEmpty { return endsInLine || continues ? bytes : [newline] + bytes }
        var result: [UInt8] = endsInLine || continues ? [] : [newline]
        var isAtStart = !continues
        for byte in bytes {
            if isAtStart { result += label }
            result.append(byte)
            isAtStart = byte == newline
        }
        return result
    }
}
