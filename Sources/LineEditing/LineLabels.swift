/// Says, in front of each line, who has printed it.
///
/// Each thread has a label of its own, because observers run on one thread while workers print on theirs.
struct LineLabels {
    private var labels: [UInt: [UInt8]] = [:]
    /// The label of the line that was left unfinished.
    private var unfinished: [UInt8] = []

    /// Labels what the calling thread prints from here on; an empty one stops that.
    mutating func set(_ label: [UInt8]) {
        labels[currentThread()] = label.isEmpty ? nil : label
    }

    /// The bytes with the calling thread's label in front of each line.
    ///
    /// `endsInLine` says whether what came before ended its line; what does not go on with that
    /// line begins a new one.
    mutating func label(_ bytes: [UInt8], endsInLine: Bool) -> [UInt8] {
        let label = labels.isEmpty ? [] : labels[currentThread()] ?? []
        let goesOn = !endsInLine && unfinished == label
        let newline = UInt8(ascii: "\n")
        unfinished = label
        if label.isEmpty { return endsInLine || goesOn ? bytes : [newline] + bytes }
        var result: [UInt8] = endsInLine || goesOn ? [] : [newline]
        var isAtStart = !goesOn
        for byte in bytes {
            if isAtStart { result += label }
            result.append(byte)
            isAtStart = byte == newline
        }
        return result
    }
}
