/// Generated notes of four words each, from a vocabulary of 20,000; the same for every contestant.
struct Notes {
    static let vocabulary = 20_000
    static let wordsOfEach = 4

    let count: Int

    /// Returns the note with this index.
    func text(_ index: Int) -> String {
        var draws = Draws(state: mix(UInt64(index) &+ 0x6e6f_7465))
        return (0..<Self.wordsOfEach).map { _ in
            Self.word(Int(draws.next() % UInt64(Self.vocabulary)))
        }.joined(separator: " ")
    }

    /// Returns a word of five to eight letters.
    static func word(_ number: Int) -> String {
        var draws = Draws(state: mix(UInt64(number) &+ 0x776f_7264))
        let length = 5 + Int(draws.next() % 4)
        let letters = (0..<length).map { _ in UInt8(97 + draws.next() % 26) }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Returns words to search for, each of which occurs in some note.
    func soughtWords(_ number: Int) -> [String] {
        (0..<number).map { Self.word(Int(mix(UInt64($0) &+ 12) % UInt64(Self.vocabulary))) }
    }

    /// Returns pairs of words that occur together in a note.
    func soughtPairs(_ number: Int) -> [String] {
        (0..<number).map { draw in
            let words = text(Int(mix(UInt64(draw) &+ 13) % UInt64(count))).split(separator: " ")
            return "\(words[0]) \(words[1])"
        }
    }
}
