/// Changes inputs at random.
struct InputMutator {
    /// Texts with a meaning in the inputs.
    let words: [[UInt8]]

    private static let largest = 1 << 16
    private static let numbers = [
        "0", "-0", "1e400", "-1", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "0.1", "1e-400", "NaN", "4294967296", "65536",
    ].map { Array($0.utf8) }

    /// Makes one to four changes, possibly with parts of `other`, another input.
    func change(
        _ input: inout [UInt8], _ other: [UInt8], using random: inout some RandomNumberGenerator
    ) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            changeOnce(&input, other, &random)
        }
        if input.count > Self.largest { input.removeLast(input.count - Self.largest) }
    }

    private func changeOnce(
        _ input: inout [UInt8], _ other: [UInt8], _ random: inout some RandomNumberGenerator
    ) {
        let index = Int.random(in: 0...input.count, using: &random)
        let length = min(
            input.count - index, 1 << Int.random(in: 0...6, using: &random))
        switch Int.random(in: 0..<11, using: &random) {
        case 0 where length > 0: input[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1 where length > 0: input[index] = UInt8.random(in: 0...255, using: &random)
        case 2: input.removeSubrange(index..<index + length)
        case 3: input.insert(contentsOf: input[index..<index + length], at: index)
        case 4: input.removeSubrange(index...)
        case 5: input.insert(contentsOf: words.randomElement(using: &random) ?? [0], at: index)
        case 6:
            input.insert(
                contentsOf: Self.numbers.randomElement(using: &random) ?? [], at: index)
        case 7:
            let start = Int.random(in: 0...other.count, using: &random)
            input.insert(contentsOf: other[start...].prefix(64), at: index)
        case 8:
            // Deep nesting, and long runs.
            let part = Array(input[index..<index + min(length, 4)])
            let count = 1 << Int.random(in: 0...10, using: &random)
            for _ in 0..<count { input.insert(contentsOf: part, at: index) }
        case 9 where input.count >= 2:
            input.swapAt(
                Int.random(in: 0..<input.count, using: &random),
                Int.random(in: 0..<input.count, using: &random))
        default:
            let value = UInt32.random(in: 0...0x10FFFF, using: &random)
            let text = Unicode.Scalar(value).map { String($0) } ?? "\u{FEFF}"
            input.insert(contentsOf: Array(text.utf8), at: index)
        }
    }
}
